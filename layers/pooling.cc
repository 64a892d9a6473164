#include "layers/pooling.h"

#include "core/config/net.pb.h"

namespace gf {

bool PoolingLayer::max() const { return param().pooling_param().pool() == PoolingParameter::MAX; }
bool PoolingLayer::relu_backward() const { return param().fusion().relu_backward(); }

void PoolingLayer::SetUp(const std::vector<Shape>& bottoms) {
  const PoolingParameter& p = param().pooling_param();
  const Shape& bottom = bottoms[0];
  CheckImage(*this, bottom);
  if (p.pool() == PoolingParameter::STOCHASTIC) {
    Fail("stochastic pooling is not supported; use MAX or AVE");
  }
  if (p.has_ceil_mode() && p.has_round_mode()) {
    Fail("pooling_param has both round_mode and ceil_mode; give one");
  }
  const auto pair = [&](const char* name, bool has, int64_t both, bool has_h, int64_t h, bool has_w,
                        int64_t w, int64_t fallback) {
    const std::vector<int64_t> sides(has ? 1 : 0, both);
    return WindowField(*this, name, sides, has_h, h, has_w, w, fallback);
  };
  if (p.global_pooling()) {
    if (p.has_kernel_size() || p.has_kernel_h() || p.has_kernel_w()) {
      Fail("global_pooling takes the whole image; remove kernel_size");
    }
    window_.kernel = {bottom[2], bottom[3]};
  } else {
    window_.kernel = pair("kernel_size", p.has_kernel_size(), p.kernel_size(), p.has_kernel_h(),
                          p.kernel_h(), p.has_kernel_w(), p.kernel_w(), 0);
  }
  window_.stride = pair("stride", p.has_stride(), p.stride(), p.has_stride_h(), p.stride_h(),
                        p.has_stride_w(), p.stride_w(), 1);
  window_.pad =
      pair("pad", p.has_pad(), p.pad(), p.has_pad_h(), p.pad_h(), p.has_pad_w(), p.pad_w(), 0);
  if (p.global_pooling() && (window_.pad[0] != 0 || window_.pad[1] != 0 || window_.stride[0] != 1 ||
                             window_.stride[1] != 1)) {
    Fail("global_pooling needs pad 0 and stride 1");
  }
  CheckWindow(*this, window_);

  int64_t size[2];
  for (int i = 0; i < 2; ++i) {
    const int64_t in = bottom[2 + i], kernel = window_.kernel[i], stride = window_.stride[i],
                  pad = window_.pad[i];
    if (pad >= kernel) Fail("pad (", pad, ") must be smaller than kernel_size (", kernel, ")");
    const int64_t space = in + 2 * pad - kernel;
    if (space < 0) {
      Fail("the output would be empty: ", SideName(i), " ", in, " with padding ", pad,
           " is smaller than the window (", kernel, ")");
    }
    const bool up = p.has_ceil_mode() ? p.ceil_mode() : p.round_mode() == PoolingParameter::CEIL;
    size[i] = (space + (up ? stride - 1 : 0)) / stride + 1;
    if (pad > 0 && (size[i] - 1) * stride >= in + pad) --size[i];
    if (!up) continue;
    // Without padding, too, a window that starts behind the image holds nothing.
    if ((size[i] - 1) * stride - pad >= in) --size[i];
  }
  tops_ = {Shape{bottom[0], bottom[1], size[0], size[1]}};
}

GF_REGISTER(LayerRegistry, "Pooling", PoolingLayer);

}  // namespace gf
