#pragma once

#include <cstdint>

namespace gf {

// to[i] = BF16(FP32(to[i]) + FP32(from[i])), rounded to nearest even.
void AddBF16(const uint16_t* from, uint16_t* to, int64_t count);

}  // namespace gf
