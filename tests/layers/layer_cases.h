#pragma once

#include <vector>

#include "tests/layers/layer_tester.h"

namespace gf {

// Examples of every differentiable layer: odd shapes, channel counts that fill no block,
// batch 1, each option that changes the arithmetic.
std::vector<LayerCase> LayerCases();

}  // namespace gf
