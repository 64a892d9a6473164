#include "layers/batch_norm_pooling.h"

#include "core/config/net.pb.h"
#include "layers/pooling.h"

namespace gf {

bool BatchNormPoolingLayer::Fits(const PoolingParameter& p, int64_t channels) {
  const bool one_side = p.has_kernel_size() && !p.has_stride_h() && !p.has_stride_w() &&
                        !p.has_pad_h() && !p.has_pad_w();
  const bool one_mode = !(p.has_ceil_mode() && p.has_round_mode());
  return p.pool() == PoolingParameter::MAX && !p.global_pooling() && one_side && one_mode &&
         p.stride() == 2 && (p.kernel_size() == 2 || p.kernel_size() == 3) &&
         p.pad() < p.kernel_size() && channels % 8 == 0;
}

void BatchNormPoolingLayer::SetUp(const std::vector<Shape>& bottoms) {
  BatchNormLayer::SetUp(bottoms);
  const PoolingParameter& p = param().pooling_param();
  for (int axis = 0; axis < 2; ++axis) {
    const int64_t side = bottoms[0][2 + axis], pad = p.pad(), kernel = p.kernel_size();
    if (side + 2 * pad >= kernel) continue;
    Fail("the max pooling of its result would be empty: ", SideName(axis), " ", side,
         " with padding ", pad, " is smaller than the window (", kernel, ")");
  }
  PoolingLayer windows(param(), phase(), "");
  windows.SetUp({bottoms[0]});
  window_ = windows.window();
  tops_ = windows.tops();
}

GF_REGISTER(LayerRegistry, "_BatchNormPooling", BatchNormPoolingLayer);

}  // namespace gf
