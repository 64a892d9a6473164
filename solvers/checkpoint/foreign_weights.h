#pragma once

#include <string>
#include <string_view>

namespace gf {

// If the first bytes of a file are those of another format of weights: which one, and how to make
// safetensors of it, as the end of "PATH: is ...". Otherwise "".
std::string ForeignWeights(const std::string& path, std::string_view start);

}  // namespace gf
