#include "comm/topk/selection.h"

#include <algorithm>
#include <functional>

namespace gf {

Cut CutOf(std::vector<uint32_t>* bits, int64_t chosen) {
  const auto last = bits->begin() + (chosen - 1);
  std::nth_element(bits->begin(), last, bits->end(), std::greater<>());
  Cut cut;
  cut.bits = *last;
  cut.equal = std::count(bits->begin(), last + 1, cut.bits);
  return cut;
}

void MagnitudeHistogram::Add(const float* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) ++counts_[MagnitudeBits(values[i]) >> kShift];
}

void MagnitudeHistogram::Add(const MagnitudeHistogram& other) {
  for (int i = 0; i < kBins; ++i) counts_[i] += other.counts_[i];
}

uint32_t MagnitudeHistogram::LeastFor(int64_t chosen) const {
  int bin = kBins - 1;
  for (int64_t above = counts_[bin]; above < chosen && bin > 0; above += counts_[bin]) --bin;
  return static_cast<uint32_t>(bin) << kShift;
}

}  // namespace gf
