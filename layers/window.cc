#include "layers/window.h"

namespace gf {

const char* SideName(int axis) { return axis == 0 ? "height" : "width"; }

std::string SidesOf(const std::string& name) {
  const std::string stem = name == "kernel_size" ? "kernel" : name;
  return stem + "_h and " + stem + "_w";
}

std::array<int64_t, 2> WindowField(const Layer& layer, const std::string& name,
                                   const std::vector<int64_t>& both, bool has_h, int64_t h,
                                   bool has_w, int64_t w, int64_t fallback) {
  if (has_h || has_w) {
    if (!both.empty()) layer.Fail("give ", name, " or ", SidesOf(name), ", not both");
    if ((!has_h || !has_w) && name != "pad") layer.Fail("give both ", SidesOf(name));
    return {has_h ? h : fallback, has_w ? w : fallback};
  }
  if (both.size() > 2) {
    layer.Fail(name, " has ", both.size(), " values; expected one, or two (height, width)");
  }
  if (both.empty()) return {fallback, fallback};
  return {both.front(), both.back()};
}

void CheckWindow(const Layer& layer, const Window& window) {
  constexpr int64_t kLimit = 1 << 15;
  for (int i = 0; i < 2; ++i) {
    if (window.kernel[i] < 1) layer.Fail("kernel_size is missing or zero");
    if (window.stride[i] < 1) layer.Fail("stride must be at least 1");
    if (window.dilation[i] < 1) layer.Fail("dilation must be at least 1");
    if (window.kernel[i] > kLimit || window.stride[i] > kLimit || window.pad[i] > kLimit ||
        window.dilation[i] > kLimit) {
      layer.Fail("kernel_size, stride, pad and dilation must be at most ", kLimit);
    }
  }
}

void CheckImage(const Layer& layer, const Shape& bottom) {
  if (bottom.rank() != 4) {
    layer.Fail("expects a bottom with four axes (N x C x H x W), got ", bottom.ToString());
  }
}

}  // namespace gf
