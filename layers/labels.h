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

// Number of leading outer samples that count: the padding images at the end of a batch do not.
int64_t CountedSamples(const KernelArgs& args, const ClassAxis& view);

}  // namespace gf
