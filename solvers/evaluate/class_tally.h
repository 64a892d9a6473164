#pragma once

#include <cstdint>
#include <vector>

#include "solvers/evaluate/tally.h"

namespace gf {

// Counts of images with one class each.
class ClassTally : public Tally {
 public:
  explicit ClassTally(int64_t classes);

  void Add(const std::vector<float>& outputs, const Batch& batch,
           const std::vector<int64_t>& images) override;
  // Adds the first `count` images of a batch: scores [batch][classes], and their labels.
  // An image is right in the top k if fewer than k classes score higher than its label's (of
  // equal scores the lower class counts as higher); NaN scores are never right. The loss is
  // -log softmax(scores)[label], summed in double.
  void Add(const std::vector<float>& scores, const std::vector<int64_t>& labels, int64_t count);

  // Sums the counts of all ranks.
  void Reduce(Communicator* comm) override;

  int64_t outputs() const override { return classes(); }
  int64_t classes() const { return static_cast<int64_t>(class_images_.size()); }
  int64_t images() const override { return images_; }
  // top1, and top5 if there are more than five classes.
  std::vector<Figure> Figures() const override;
  // Images of the class, those right in the top 1, and their share.
  std::vector<Figure> FiguresOf(int64_t output) const override;

  // Shares of the images, 0 without images.
  double top1() const { return Share(top1_); }
  double top5() const { return Share(top5_); }
  double loss() const override { return images_ == 0 ? 0 : loss_ / static_cast<double>(images_); }
  // Images of each class, and those right in the top 1.
  const std::vector<int64_t>& class_images() const { return class_images_; }
  const std::vector<int64_t>& class_right() const { return class_right_; }

 private:
  double Share(int64_t count) const {
    return images_ == 0 ? 0 : static_cast<double>(count) / static_cast<double>(images_);
  }

  int64_t images_ = 0, top1_ = 0, top5_ = 0;
  double loss_ = 0;
  std::vector<int64_t> class_images_, class_right_;
};

}  // namespace gf
