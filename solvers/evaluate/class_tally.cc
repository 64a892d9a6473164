#include "solvers/evaluate/class_tally.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>

namespace gf {

ClassTally::ClassTally(int64_t classes) : class_images_(classes), class_right_(classes) {}

void ClassTally::Add(const std::vector<float>& outputs, const Batch& batch,
                     const std::vector<int64_t>& images) {
  Add(outputs, batch.labels, static_cast<int64_t>(images.size()));
}

void ClassTally::Add(const std::vector<float>& scores, const std::vector<int64_t>& labels,
                     int64_t count) {
  CHECK_LE(static_cast<size_t>(count), labels.size());
  CHECK_LE(static_cast<size_t>(count * classes()), scores.size());
  for (int64_t i = 0; i < count; ++i) {
    const float* row = scores.data() + i * classes();
    const int64_t label = labels[i];
    CHECK(label >= 0 && label < classes()) << label;
    const float own = row[label];
    int64_t higher = 0;
    double maximum = own;
    for (int64_t c = 0; c < classes(); ++c) {
      // With a NaN on either side the comparison says that the label's score is not higher.
      if (c != label && !(c < label ? own > row[c] : own >= row[c])) ++higher;
      maximum = std::max<double>(maximum, row[c]);
    }
    double sum = 0;
    for (int64_t c = 0; c < classes(); ++c) sum += std::exp(row[c] - maximum);
    loss_ += std::log(sum) + maximum - own;
    ++images_;
    ++class_images_[label];
    if (std::isnan(own)) continue;
    if (higher < 1) {
      ++top1_;
      ++class_right_[label];
    }
    if (higher < 5) ++top5_;
  }
}

std::vector<Figure> ClassTally::Figures() const {
  Figure first = {"top1", "top-1", Figure::kShare, top1()};
  Figure fifth = {"top5", "top-5", Figure::kShare, std::nullopt};
  if (classes() > 5) fifth.value = top5();
  return {first, fifth};
}

std::vector<Figure> ClassTally::FiguresOf(int64_t output) const {
  const auto images = static_cast<double>(class_images_[output]);
  const auto right = static_cast<double>(class_right_[output]);
  Figure share = {"top1", "top-1", Figure::kShare, std::nullopt};
  if (images > 0) share.value = right / images;
  return {{"images", "images", Figure::kCount, images},
          {"right", "right", Figure::kCount, right},
          share};
}

void ClassTally::Reduce(Communicator* comm) {
  const std::string label = "counts of an evaluation";
  std::vector<int64_t> counts = {images_, top1_, top5_};
  counts.insert(counts.end(), class_images_.begin(), class_images_.end());
  counts.insert(counts.end(), class_right_.begin(), class_right_.end());
  comm->AllReduce(counts.data(), static_cast<int64_t>(counts.size()), ReduceOp::kSum, label);
  comm->AllReduce(&loss_, 1, ReduceOp::kSum, label);
  images_ = counts[0];
  top1_ = counts[1];
  top5_ = counts[2];
  std::copy_n(counts.begin() + 3, classes(), class_images_.begin());
  std::copy_n(counts.begin() + 3 + classes(), classes(), class_right_.begin());
}

}  // namespace gf
