#pragma once

#include <optional>
#include <vector>

#include "solvers/evaluate/output_table.h"

namespace gf {

// Images with real values, with the differences d between the net's outputs and the values:
//   mae   mean of |d|
//   rmse  square root of the mean of d^2
//   r2    1 - sum of d^2 / sum of (value - mean value)^2; not defined where all values are equal
//   loss  of an image: the sum over its values of d^2 / 2
// The mean is over images for a value, and over images and values in all; r2 in all is the mean of
// the values' (scikit-learn's r2_score). Keeps the outputs of all images (OutputTable) and sums in
// FP64 in the order of the images, so that figures are the same for any number of ranks.
class ValuesTally : public TableTally {
 public:
  ValuesTally(int64_t images, int64_t values, LabelsOfImage labels);

  void Reduce(Communicator* comm) override;

  double loss() const override;
  std::vector<Figure> Figures() const override;
  std::vector<Figure> FiguresOf(int64_t output) const override;
  bool outputs_are_values() const override { return true; }

 private:
  // Sums over the images, of one value.
  struct Sums {
    double absolute = 0, square = 0;
    double value = 0;   // of the labels
    double spread = 0;  // of (label - mean label)^2
  };

  std::vector<Figure> FiguresOf(double absolute, double square, double count,
                                std::optional<double> r2) const;
  static std::optional<double> R2(const Sums& sums);

  std::vector<Sums> sums_;
};

}  // namespace gf
