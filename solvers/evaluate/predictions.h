#pragma once

#include <cstdint>
#include <vector>

#include "comm/communicator.h"

namespace gf {

// Which class each image of a data set was taken for.
class Predictions {
 public:
  // What of() says besides classes: the image was left out; a score of it was not a number.
  static constexpr int64_t kNone = -1, kNotANumber = -2;

  explicit Predictions(int64_t images) : stored_(images) {}

  // Adds a batch: scores [batch][classes], and the number of each image in the data set. The
  // class with the highest score counts, of equal ones the lowest.
  void Add(const std::vector<float>& scores, int64_t classes, const std::vector<int64_t>& images);
  // Puts together what all ranks have; every rank gets all.
  void Reduce(Communicator* comm);

  int64_t images() const { return static_cast<int64_t>(stored_.size()); }
  int64_t of(int64_t image) const;

 private:
  // 0 = none, so that ranks' vectors can be added; 1 = not a number, otherwise class + 2.
  std::vector<int64_t> stored_;
};

// Images of one class that were taken for another (or for Predictions::kNotANumber).
struct Confusion {
  int64_t label = 0, predicted = 0, images = 0;
};

// The pairs of classes that are confused most, most first, at most `most` of them. labels: of each
// image.
std::vector<Confusion> TopConfusions(const Predictions& predictions,
                                     const std::vector<int64_t>& labels, size_t most);

}  // namespace gf
