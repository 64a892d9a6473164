#pragma once

#include <cstdint>

#include "layers/class_view.h"
#include "layers/layer.h"

namespace gf {

// `axis` (non-negative) holds the classes.
inline ClassAxis ClassAxisOf(const Shape& scores, int axis) {
  return {scores.count(0, axis), scores[axis], scores.count(axis + 1, scores.rank())};
}

// Fails unless there is one label per prediction.
void CheckLabels(const Layer& layer, const Shape& scores, const Shape& labels,
                 const ClassAxis& view);

// The label of prediction (outer, inner). Fails if it is outside [0, classes).
int64_t CheckedLabel(const Layer& layer, const ClassAxis& view, const int64_t* labels,
                     int64_t outer, int64_t inner);

}  // namespace gf
