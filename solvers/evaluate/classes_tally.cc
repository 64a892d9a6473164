#include "solvers/evaluate/classes_tally.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/parallel.h"

namespace gf {

double AveragePrecision(std::vector<std::pair<float, bool>>* scored) {
  std::sort(scored->begin(), scored->end(),
            [](const auto& a, const auto& b) { return a.first > b.first; });
  const auto all = static_cast<double>(std::count_if(
      scored->begin(), scored->end(), [](const auto& image) { return image.second; }));
  double sum = 0, right = 0;
  for (size_t i = 0; i < scored->size();) {
    const float score = (*scored)[i].first;
    const double before = right;
    for (; i < scored->size() && (*scored)[i].first == score; ++i) right += (*scored)[i].second;
    sum += (right - before) / all * (right / static_cast<double>(i));
  }
  return sum;
}

ClassesTally::ClassesTally(int64_t images, int64_t classes, LabelsOfImage labels)
    : TableTally(images, classes, std::move(labels)),
      class_images_(classes),
      precisions_(classes) {}

void ClassesTally::Reduce(Communicator* comm) {
  table_.Reduce(comm);
  AddUpImages();
  FindPrecisions(comm);
}

// Loss and exact matches, in the order of the images.
void ClassesTally::AddUpImages() {
  const std::vector<int64_t>& images = table_.images();
  const int64_t classes = outputs();
  std::vector<double> losses(images.size());
  std::vector<uint8_t> exact(images.size());
  ParallelFor(static_cast<int64_t>(images.size()), 1, [&](int64_t begin, int64_t end) {
    std::vector<float> labels;
    std::vector<uint8_t> has(classes);
    for (int64_t i = begin; i < end; ++i) {
      labels_(images[i], &labels);
      std::fill(has.begin(), has.end(), 0);
      for (const float label : labels) has[static_cast<size_t>(label)] = 1;
      const float* const row = table_.of(images[i]);
      exact[i] = 1;
      for (int64_t c = 0; c < classes; ++c) {
        const double x = row[c];
        losses[i] += std::max(x, 0.) - x * has[c] + std::log1p(std::exp(-std::abs(x)));
        if (std::isnan(x) || (x > 0) != (has[c] != 0)) exact[i] = 0;
      }
    }
  });
  double loss = 0, matches = 0;
  std::vector<float> labels;
  for (size_t i = 0; i < images.size(); ++i) {
    loss += losses[i];
    matches += exact[i];
    labels_(images[i], &labels);
    for (const float label : labels) class_images_[static_cast<size_t>(label)].push_back(images[i]);
  }
  const auto count = static_cast<double>(std::max<size_t>(images.size(), 1));
  loss_ = loss / count;
  exact_ = matches / count;
}

// Each rank sorts the scores of some of the classes.
void ClassesTally::FindPrecisions(Communicator* comm) {
  const std::vector<int64_t>& images = table_.images();
  const int64_t classes = outputs(), world = comm->size();
  const int64_t own = (classes - comm->rank() + world - 1) / world;
  ParallelFor(own, 1, [&](int64_t begin, int64_t end) {
    std::vector<std::pair<float, bool>> scored(images.size());
    for (int64_t k = begin; k < end; ++k) {
      const int64_t c = comm->rank() + k * world;
      const std::vector<int64_t>& having = class_images_[c];  // ascending, as `images`
      if (having.empty()) continue;
      auto next = having.begin();
      for (size_t i = 0; i < images.size(); ++i) {
        const float score = table_.of(images[i])[c];
        const bool has = next != having.end() && *next == images[i];
        if (has) ++next;
        const float lowest = -std::numeric_limits<float>::infinity();
        scored[i] = {std::isnan(score) ? lowest : score, has};
      }
      precisions_[c] = AveragePrecision(&scored);
    }
  });
  comm->AllReduce(precisions_.data(), classes, ReduceOp::kSum, "average precisions");
}

std::vector<Figure> ClassesTally::Figures() const {
  Figure mean = {"mean_average_precision", "mAP", Figure::kShare, std::nullopt};
  double sum = 0;
  int64_t met = 0;
  for (int64_t c = 0; c < outputs(); ++c) {
    sum += precisions_[c];
    if (!class_images_[c].empty()) ++met;
  }
  if (met > 0) mean.value = sum / static_cast<double>(met);
  return {mean, {"exact_match", "exact", Figure::kShare, exact_}};
}

std::vector<Figure> ClassesTally::FiguresOf(int64_t output) const {
  const auto count = static_cast<double>(class_images_[output].size());
  Figure precision = {"average_precision", "AP", Figure::kShare, std::nullopt};
  if (count > 0) precision.value = precisions_[output];
  return {{"images", "images", Figure::kCount, count}, precision};
}

}  // namespace gf
