#pragma once

#include <string>
#include <utility>
#include <vector>

namespace gf {

// The entries "NAME = VALUE; ..." of a flag ("--methods"), in order, without the spaces around
// names and values. Names hold no "=", values no ";". An entry without "=" has an empty value.
// Throws UserError for an entry without a name.
std::vector<std::pair<std::string, std::string>> NamedValues(const std::string& flag,
                                                             const std::string& text);

}  // namespace gf
