#include "layers/cpu/channel_affine.h"

#include <algorithm>
#include <utility>

#include "layers/cpu/elementwise.h"

namespace gf {

ChannelAffine::ChannelAffine(DType type, const ScaleKernels& kernels)
    : type_(type), functions_(ForType(kernels, type)) {}

void ChannelAffine::SetView(const ChannelView& view) {
  view_ = view;
  // Vectors: channels side by side.
  if (view_.block == 1 && view_.spatial == 1) std::swap(view_.block, view_.blocks);
  if (view_.blocks == 1) {
    view_.n *= view_.spatial;
    view_.spatial = 1;
  }
}

std::vector<float> ChannelAffine::Padded(const float* values, float fallback) const {
  std::vector<float> padded(view_.padded_channels());
  if (values != nullptr) {
    std::copy(values, values + view_.channels, padded.begin());
  } else {
    std::fill_n(padded.begin(), view_.channels, fallback);
  }
  return padded;
}

void ChannelAffine::Forward(const void* x, const float* gamma, const float* beta, void* y) const {
  const std::vector<float> factors = Padded(gamma, 1), addends = Padded(beta, 0);
  const int64_t row = view_.spatial * view_.block;
  ParallelFor(view_.n * view_.blocks, std::max<int64_t>(1, kElementGrain / row),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  const int64_t channel = i % view_.blocks * view_.block;
                  functions_.forward(At(x, i * row, type_), At(y, i * row, type_),
                                     factors.data() + channel, addends.data() + channel,
                                     view_.spatial, view_.block);
                }
              });
}

// Each thread computes whole channels, so the sums do not depend on the number of threads.
void ChannelAffine::Backward(const void* x, const void* dy, const float* gamma, void* dx,
                             void* dgamma, void* dbeta) const {
  const std::vector<float> factors = Padded(gamma, 1);
  const int64_t groups = (view_.block + kScaleLanes - 1) / kScaleLanes;
  const auto store = [&](const double* sums, int64_t channel, int lanes, void* to) {
    if (to == nullptr) return;
    for (int l = 0; l < lanes && channel + l < view_.channels; ++l) {
      StoreElement(to, channel + l, type_, static_cast<float>(sums[l]));
    }
  };
  ParallelFor(view_.blocks * groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t lane = i % groups * kScaleLanes, channel = i / groups * view_.block + lane;
      const int64_t at = i / groups * view_.spatial * view_.block + lane;
      const int lanes = static_cast<int>(std::min<int64_t>(kScaleLanes, view_.block - lane));
      double products[kScaleLanes], sums[kScaleLanes];
      functions_.backward(At(x, at, type_), At(dy, at, type_),
                          dx == nullptr ? nullptr : At(dx, at, type_), factors.data() + channel,
                          view_.n, view_.blocks * view_.spatial * view_.block, view_.spatial,
                          view_.block, lanes, products, sums);
      store(products, channel, lanes, dgamma);
      store(sums, channel, lanes, dbeta);
    }
  });
}

}  // namespace gf
