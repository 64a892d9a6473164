#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "layers/layer.h"

namespace gf {

// A sliding window over the two spatial axes (index 0: height, 1: width).
struct Window {
  std::array<int64_t, 2> kernel = {1, 1};
  std::array<int64_t, 2> stride = {1, 1};
  std::array<int64_t, 2> pad = {0, 0};
  std::array<int64_t, 2> dilation = {1, 1};

  // Pixels between the first and the last tap, plus one.
  int64_t extent(int axis) const { return dilation[axis] * (kernel[axis] - 1) + 1; }
};

// "height" or "width" for axis 0 or 1 of a window.
const char* SideName(int axis);

// The two fields of a window setting by side: "kernel_h and kernel_w" for "kernel_size".
std::string SidesOf(const std::string& name);

// Reads one of Caffe's window settings: "x: 3", "x: 3 x: 5" or "x_h: 3 x_w: 5"; returns `fallback`
// if it is absent. A single pad_h or pad_w leaves the other pad at `fallback`. Fails if the forms
// are mixed or the number of values is wrong.
std::array<int64_t, 2> WindowField(const Layer& layer, const std::string& name,
                                   const std::vector<int64_t>& both, bool has_h, int64_t h,
                                   bool has_w, int64_t w, int64_t fallback);

// Fails unless kernel, stride and dilation are positive and all settings are at most 32768.
void CheckWindow(const Layer& layer, const Window& window);

// Fails unless the bottom has four axes (N, C, H, W).
void CheckImage(const Layer& layer, const Shape& bottom);

}  // namespace gf
