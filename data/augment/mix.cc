#include "data/augment/mix.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace gf {
namespace {

// The logarithm of a number with the gamma distribution of this shape (Marsaglia and Tsang, "A
// simple method for generating gamma variables", 2000). Shapes below 1 may give numbers too small
// for a double.
double LogOfGammaDraw(double shape, Random* random) {
  const auto uniform = [&] { return (random->Next() + 0.5) * 0x1p-32; };
  const double boost = shape < 1 ? std::log(uniform()) / shape : 0;
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random->Gaussian(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(uniform()) < x * x / 2 + d - d * v + d * std::log(v)) {
      return std::log(d * v) + boost;
    }
  }
}

// Of the beta distribution whose parameters are both `alpha`.
double DrawShare(double alpha, Random* random) {
  const double own = LogOfGammaDraw(alpha, random), other = LogOfGammaDraw(alpha, random);
  return 1 / (1 + std::exp(other - own));
}

BatchMix DrawCut(double share, ImageSize size, Random* random) {
  const auto x = static_cast<int>(random->Below(size.width));
  const auto y = static_cast<int>(random->Below(size.height));
  const double half = 0.5 * std::sqrt(1 - share);
  const auto half_width = static_cast<int>(half * size.width);
  const auto half_height = static_cast<int>(half * size.height);
  const int left = std::max(x - half_width, 0), right = std::min(x + half_width, size.width);
  const int top = std::max(y - half_height, 0), bottom = std::min(y + half_height, size.height);
  BatchMix mix;
  if (right <= left || bottom <= top) return mix;
  mix.top = top;
  mix.left = left;
  mix.height = bottom - top;
  mix.width = right - left;
  mix.pixel_share = 0;
  mix.label_share = static_cast<float>(1 - static_cast<double>(mix.height) * mix.width /
                                               static_cast<double>(size.pixels()));
  return mix;
}

}  // namespace

BatchMix DrawMix(const MixConfig& config, ImageSize size, Random random) {
  BatchMix mix;
  const bool blends = config.mixup() > 0, cuts = config.cutmix() > 0;
  if (!blends && !cuts) return mix;
  if (random.Uniform() >= config.probability()) return mix;
  if (cuts && (!blends || (random.Next() & 1) != 0)) {
    return DrawCut(DrawShare(config.cutmix(), &random), size, &random);
  }
  mix.height = size.height;
  mix.width = size.width;
  mix.pixel_share = mix.label_share = static_cast<float>(DrawShare(config.mixup(), &random));
  return mix;
}

void MixLabelValues(Batch* batch) {
  const float share = batch->mix.label_share;
  const int64_t count = batch->size();
  if (share == 1 || batch->label_values.empty() || count == 0) return;
  std::vector<float>& values = batch->label_values;
  const auto per_image = static_cast<int64_t>(values.size()) / count;
  const std::vector<float> last(values.end() - per_image, values.end());
  for (int64_t i = count - 1; i >= 0; --i) {
    const float* const other = i > 0 ? &values[(i - 1) * per_image] : last.data();
    for (int64_t k = 0; k < per_image; ++k) {
      float* const own = &values[i * per_image + k];
      *own = share * *own + (1 - share) * other[k];
    }
  }
}

}  // namespace gf
