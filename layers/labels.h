#pragma once

#include <cstdint>

#include "layers/class_axis.h"
#include "layers/kernel.h"
#include "layers/layer.h"

namespace gf {

// Fails the layer unless there is one label per prediction.
void CheckLabels(const Layer& layer, const Shape& scores, const Shape& labels,
                 const ClassAxis& view);

// The label of prediction (outer, inner). Fails the layer if the label is outside [0, classes).
int64_t CheckedLabel(const Layer& layer, const ClassAxis& view, const int64_t* labels,
                     int64_t outer, int64_t inner);

// Number of predictions of the first `samples` samples that count; a label with ignored(label) does
// not count. `labels`: host memory. Fails the layer for another label out of range.
template <typename Ignored>
int64_t CountLabels(const Layer& layer, const ClassAxis& view, const int64_t* labels,
                    int64_t samples, const Ignored& ignored) {
  int64_t counted = 0;
  for (int64_t outer = 0; outer < samples; ++outer) {
    for (int64_t inner = 0; inner < view.inner; ++inner) {
      if (ignored(labels[outer * view.inner + inner])) continue;
      CheckedLabel(layer, view, labels, outer, inner);
      ++counted;
    }
  }
  return counted;
}

// Number of leading samples, of `samples` in all, that count: the padding images at the end of a
// batch do not.
int64_t CountedSamples(const KernelArgs& args, int64_t samples);

// The weight of a sample's own label in its loss (Batch::mix). The label of sample MixedImage has
// the weight 1 - share. Fails the layer if images are mixed, but are not the samples.
float LabelShare(const Layer& layer, const KernelArgs& args, int64_t samples);

}  // namespace gf
