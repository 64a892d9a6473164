#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "comm/communicator.h"
#include "solvers/evaluate/tally.h"

namespace gf {

// The labels of an image of a data set, by its number.
using LabelsOfImage = std::function<void(int64_t image, std::vector<float>* labels)>;

// A net's outputs for each image of a data set. Takes 4 bytes per output, and 4 more, for each
// image of the data set on every rank.
class OutputTable {
 public:
  // Throws UserError if this process cannot hold such a table: for a start, at which all ranks can
  // agree on errors.
  static void CheckMemory(int64_t images, int64_t outputs);
  // Throws as CheckMemory.
  OutputTable(int64_t images, int64_t outputs);

  // Outputs [batch][outputs] of these images, first in the batch.
  void Add(const std::vector<float>& outputs, const std::vector<int64_t>& images);
  // Puts together what all ranks have, bit for bit; every rank gets all. No two ranks have the same
  // image.
  void Reduce(Communicator* comm);

  int64_t outputs() const { return outputs_; }
  // The images that have outputs, ascending. Valid after Reduce.
  const std::vector<int64_t>& images() const { return images_; }
  const float* of(int64_t image) const { return values_.data() + image * (outputs_ + 1); }

 private:
  const int64_t outputs_;
  // [images][outputs + 1]: the last is 1 where there are outputs.
  std::vector<float> values_;
  std::vector<int64_t> images_;
};

// A tally that keeps the outputs of all images, so that its figures are the same for any number of
// ranks.
class TableTally : public Tally {
 public:
  TableTally(int64_t images, int64_t outputs, LabelsOfImage labels);

  void Add(const std::vector<float>& outputs, const Batch& batch,
           const std::vector<int64_t>& images) final;
  int64_t outputs() const final { return table_.outputs(); }
  int64_t images() const final { return static_cast<int64_t>(table_.images().size()); }

 protected:
  OutputTable table_;
  const LabelsOfImage labels_;
};

}  // namespace gf
