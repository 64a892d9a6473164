#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/layers/layer_tester.h"

namespace gf {

// Parts of the tables of cases (layer_cases.cc, loss_cases.cc).
using Cases = std::vector<LayerCase>;

inline LayerCase Case(std::string name, std::string prototxt, std::vector<Shape> bottoms) {
  LayerCase test;
  test.name = std::move(name);
  test.prototxt = std::move(prototxt);
  test.bottoms = std::move(bottoms);
  return test;
}

inline LayerCase WithTops(LayerCase test, int tops) {
  test.tops = tops;
  return test;
}

inline LayerCase WithLabels(LayerCase test, std::vector<int64_t> labels) {
  test.labels = std::move(labels);
  return test;
}

// Of every layer that compares scores with labels, and of Softmax.
Cases LossCases();

}  // namespace gf
