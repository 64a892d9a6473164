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
  counts_.resize(kBins);
  for (int64_t i = 0; i < count; ++i) ++counts_[MagnitudeBits(values[i]) >> kShift];
}

void MagnitudeHistogram::Add(const MagnitudeHistogram& other) {
  if (other.counts_.empty()) return;
  counts_.resize(kBins);
  for (int i = 0; i < kBins; ++i) counts_[i] += other.counts_[i];
}

MagnitudeHistogram::Bin MagnitudeHistogram::BinOf(int64_t chosen) const {
  Bin bin;
  uint32_t i = kBins - 1;
  for (; i > 0 && bin.above + counts_[i] < chosen; --i) bin.above += counts_[i];
  bin.begin = i << kShift;
  bin.last = bin.begin + ((1u << kShift) - 1);
  return bin;
}

}  // namespace gf
