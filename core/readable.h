#pragma once

#include <cstdint>
#include <string>

// Numbers as people read them.
namespace gf {

// "1.23 GB", "512 B"; "1h02m", "3m20s", "12 s"; "61,100,840"
std::string HumanBytes(double bytes);
std::string HumanSeconds(double seconds);
std::string WithCommas(int64_t value);

// "1 rank", "2 ranks"; `plural` if it is not noun + "s".
std::string Counted(int64_t count, const std::string& noun, const std::string& plural = "");

}  // namespace gf
