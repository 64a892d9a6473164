#pragma once

#include <gtest/gtest.h>

#include "tests/layers/layer_tester.h"

namespace gf {

// Expects that a layer with one bottom draws anew in each step, and unlike the layers beside it.
inline void ExpectOwnDraws(const LayerCase& test, RunOptions options) {
  LayerRun first(test, options);
  options.sequence = 1;
  LayerRun second(test, options);
  options.layer_index += 1;
  LayerRun other_layer(test, options);
  for (LayerRun* run : {&first, &second, &other_layer}) {
    run->SetBottom(0, Values(test.bottoms[0].count(), 1));
    run->Forward();
  }
  EXPECT_NE(first.Top(0), second.Top(0));
  EXPECT_NE(second.Top(0), other_layer.Top(0));
}

}  // namespace gf
