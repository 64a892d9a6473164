#pragma once

#include <utility>
#include <vector>

#include "solvers/evaluate/output_table.h"

namespace gf {

// The average precision of scores, each with whether its image has the class: the sum over the
// distinct scores, from the highest to the lowest, of (R_n - R_{n-1}) P_n, with precision P_n and
// recall R_n of the images whose score is not lower. This is scikit-learn's
// average_precision_score; images of equal scores count together. At least one image must have the
// class. Sorts `scored`; none of the scores is NaN.
double AveragePrecision(std::vector<std::pair<float, bool>>* scored);

// Images with any number of classes, whose scores before the sigmoid are the net's outputs.
//   mean_average_precision  mean of the average precision of the classes that have images
//   exact_match             share of the images whose classes, and no others, have a score above 0
//                           (a sigmoid above 0.5)
//   loss                    of an image: the sum over the classes of log(1 + exp(x)) - x * label
// Scores that are no numbers count as the lowest and match nothing. Keeps the outputs of all images
// (OutputTable), so that figures are the same for any number of ranks.
class ClassesTally : public TableTally {
 public:
  ClassesTally(int64_t images, int64_t classes, LabelsOfImage labels);

  void Reduce(Communicator* comm) override;

  double loss() const override { return loss_; }
  std::vector<Figure> Figures() const override;
  // The images of the class, and its average precision.
  std::vector<Figure> FiguresOf(int64_t output) const override;

 private:
  void AddUpImages();
  void FindPrecisions(Communicator* comm);

  std::vector<std::vector<int64_t>> class_images_;  // numbers of the images of each class
  std::vector<double> precisions_;                  // of classes that have images, else 0
  double loss_ = 0, exact_ = 0;
};

}  // namespace gf
