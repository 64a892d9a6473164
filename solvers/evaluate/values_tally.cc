#include "solvers/evaluate/values_tally.h"

#include <cmath>
#include <utility>

namespace gf {

ValuesTally::ValuesTally(int64_t images, int64_t values, LabelsOfImage labels)
    : TableTally(images, values, std::move(labels)), sums_(values) {}

void ValuesTally::Reduce(Communicator* comm) {
  table_.Reduce(comm);
  sums_.assign(outputs(), {});
  std::vector<float> labels;
  for (const int64_t image : table_.images()) {
    labels_(image, &labels);
    const float* const row = table_.of(image);
    for (size_t k = 0; k < sums_.size(); ++k) {
      const double difference = static_cast<double>(row[k]) - labels[k];
      sums_[k].absolute += std::abs(difference);
      sums_[k].square += difference * difference;
      sums_[k].value += labels[k];
    }
  }
  const auto count = static_cast<double>(images());
  for (const int64_t image : table_.images()) {
    labels_(image, &labels);
    for (size_t k = 0; k < sums_.size(); ++k) {
      const double difference = labels[k] - sums_[k].value / count;
      sums_[k].spread += difference * difference;
    }
  }
}

double ValuesTally::loss() const {
  double square = 0;
  for (const Sums& sums : sums_) square += sums.square;
  return images() == 0 ? 0 : square / 2 / static_cast<double>(images());
}

std::optional<double> ValuesTally::R2(const Sums& sums) {
  if (!(sums.spread > 0)) return std::nullopt;
  return 1 - sums.square / sums.spread;
}

std::vector<Figure> ValuesTally::FiguresOf(double absolute, double square, double count,
                                           std::optional<double> r2) const {
  Figure mae = {"mae", "MAE", Figure::kNumber, std::nullopt};
  Figure rmse = {"rmse", "RMSE", Figure::kNumber, std::nullopt};
  if (count > 0) {
    mae.value = absolute / count;
    rmse.value = std::sqrt(square / count);
  }
  return {rmse, mae, {"r2", "R2", Figure::kNumber, r2}};
}

std::vector<Figure> ValuesTally::Figures() const {
  double absolute = 0, square = 0, r2 = 0, defined = 0;
  for (const Sums& sums : sums_) {
    absolute += sums.absolute;
    square += sums.square;
    const std::optional<double> own = R2(sums);
    r2 += own.value_or(0);
    defined += own.has_value();
  }
  std::optional<double> mean;
  if (defined > 0) mean = r2 / defined;
  return FiguresOf(absolute, square, static_cast<double>(images() * outputs()), mean);
}

std::vector<Figure> ValuesTally::FiguresOf(int64_t output) const {
  const Sums& sums = sums_[output];
  return FiguresOf(sums.absolute, sums.square, static_cast<double>(images()), R2(sums));
}

}  // namespace gf
