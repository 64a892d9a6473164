#include "solvers/evaluate/predictions.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace gf {

void Predictions::Add(const std::vector<float>& scores, int64_t classes,
                      const std::vector<int64_t>& images) {
  CHECK_LE(images.size() * classes, scores.size());
  for (size_t i = 0; i < images.size(); ++i) {
    const float* row = scores.data() + i * classes;
    int64_t best = 0;
    bool numbers = true;
    for (int64_t c = 0; c < classes; ++c) {
      numbers = numbers && !std::isnan(row[c]);
      if (row[c] > row[best]) best = c;
    }
    stored_.at(images[i]) = numbers ? best + 2 : 1;
  }
}

void Predictions::Reduce(Communicator* comm) {
  comm->AllReduce(stored_.data(), images(), ReduceOp::kSum, "what images were taken for");
}

int64_t Predictions::of(int64_t image) const {
  const int64_t stored = stored_[image];
  return stored == 0 ? kNone : stored == 1 ? kNotANumber : stored - 2;
}

std::vector<Confusion> TopConfusions(const Predictions& predictions,
                                     const std::vector<int64_t>& labels, size_t most) {
  CHECK_EQ(static_cast<int64_t>(labels.size()), predictions.images());
  std::map<std::pair<int64_t, int64_t>, int64_t> counts;
  for (size_t i = 0; i < labels.size(); ++i) {
    const int64_t predicted = predictions.of(i);
    if (predicted != Predictions::kNone && predicted != labels[i]) ++counts[{labels[i], predicted}];
  }
  std::vector<Confusion> confusions;
  for (const auto& entry : counts) {
    confusions.push_back({entry.first.first, entry.first.second, entry.second});
  }
  std::stable_sort(confusions.begin(), confusions.end(),
                   [](const Confusion& a, const Confusion& b) { return a.images > b.images; });
  if (confusions.size() > most) confusions.resize(most);
  return confusions;
}

}  // namespace gf
