#pragma once

#include <cstdint>
#include <vector>

#include "tests/layers/layer_tester.h"

namespace gf {

// What a convolution computes; bias_diff is empty without a bias.
struct ConvolutionResults {
  Values top, bottom_diff, weight_diff, bias_diff;
};

// By the definition, in double. for_taps(n, o, h, v, f) calls f(input, weight), two indices of
// plain tensors, for the taps of result (n, o, h, v) that lie inside the image.
template <typename ForTaps>
ConvolutionResults ConvolutionReference(const LayerRun& run, bool bias, bool relu,
                                        const ForTaps& for_taps) {
  const Shape& out = run.setup().tops[0].shape;
  const Values &x = run.bottom_values(0), &w = run.parameter_values(0);
  std::vector<double> dx(x.size()), dw(w.size()), dbias(bias ? out[1] : 0);
  ConvolutionResults results;
  for (int64_t n = 0; n < out[0]; ++n) {
    for (int64_t o = 0; o < out[1]; ++o) {
      for (int64_t h = 0; h < out[2]; ++h) {
        for (int64_t v = 0; v < out[3]; ++v) {
          double sum = bias ? run.parameter_values(1)[o] : 0;
          for_taps(n, o, h, v, [&](int64_t at, int64_t tap) { sum += double{x[at]} * w[tap]; });
          double gradient = run.top_diff_values(0)[results.top.size()];
          if (relu && sum <= 0) gradient = 0;
          results.top.push_back(static_cast<float>(relu && sum < 0 ? 0 : sum));
          if (bias) dbias[o] += gradient;
          for_taps(n, o, h, v, [&](int64_t at, int64_t tap) {
            dx[at] += gradient * w[tap];
            dw[tap] += gradient * x[at];
          });
        }
      }
    }
  }
  results.bottom_diff.assign(dx.begin(), dx.end());
  results.weight_diff.assign(dw.begin(), dw.end());
  results.bias_diff.assign(dbias.begin(), dbias.end());
  return results;
}

// Runs both passes of the layer.
inline ConvolutionResults RunConvolution(LayerRun* run, bool bias) {
  run->Forward();
  ConvolutionResults results;
  results.top = run->Top(0);
  run->Backward();
  results.bottom_diff = run->BottomDiff(0);
  results.weight_diff = run->ParameterDiff(0);
  if (bias) results.bias_diff = run->ParameterDiff(1);
  return results;
}

}  // namespace gf
