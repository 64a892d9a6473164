#pragma once

#include <vector>

#include "layers/cuda/kernel_context.h"
#include "layers/labels.h"

namespace gf {

// The labels of a call on the host, one per prediction: the labels of the batch, which need no wait
// for the GPU, or else a copy of `labels` (device memory).
std::vector<int64_t> HostLabels(const KernelArgs& args, const void* labels, const ClassAxis& view,
                                const KernelContext& context);

// Number of predictions of the first `samples` samples that count; a label with ignored(label) does
// not count. Fails the layer for a label out of range.
template <typename Ignored>
int64_t CountLabels(const Layer& layer, const ClassAxis& view, const std::vector<int64_t>& labels,
                    int64_t samples, const Ignored& ignored) {
  int64_t counted = 0;
  for (int64_t outer = 0; outer < samples; ++outer) {
    for (int64_t inner = 0; inner < view.inner; ++inner) {
      if (ignored(labels[outer * view.inner + inner])) continue;
      CheckedLabel(layer, view, labels.data(), outer, inner);
      ++counted;
    }
  }
  return counted;
}

}  // namespace gf
