#pragma once

#include <cstddef>
#include <string>

namespace gf {

// Text from outside, made fit for a terminal: '?' replaces control characters, which a terminal
// would act upon, and bytes that are not UTF-8.
std::string Printable(const std::string& text);

// The same for several lines: line breaks and tabs remain.
std::string PrintableLines(const std::string& text);

// Printable, and not longer than a message can bear: of more than `most` bytes, the first ones and
// the length.
std::string Excerpt(const std::string& text, size_t most = 200);

}  // namespace gf
