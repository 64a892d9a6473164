#pragma once

#include <string>
#include <vector>

namespace gf {

// The candidate closest to `name` by edit distance (case does not count), if it is close enough
// to be what was meant; otherwise an empty string.
std::string Nearest(const std::string& name, const std::vector<std::string>& candidates);

// "a, b, c"
std::string Join(const std::vector<std::string>& words);

// `; did you mean "num_output"?`, or ` (known: a, b, c)` if nothing is close.
std::string Suggestion(const std::string& name, const std::vector<std::string>& candidates);

}  // namespace gf
