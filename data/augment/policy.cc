#include "data/augment/policy.h"

#include <cmath>

namespace gf {
namespace {

constexpr int kMagnitudes = 31;
constexpr int kErasingTries = 10;

// The magnitudes of an operation: kMagnitudes evenly spaced numbers.
struct Range {
  double first = 0, last = 0;
  bool random_sign = false;
  // Whole numbers.
  bool rounded = false;

  double At(int bin) const {
    const double value = first + (last - first) * bin / (kMagnitudes - 1);
    return rounded ? std::nearbyint(value) : value;
  }
};

// How far the operations of a policy go.
struct Reach {
  double shear, rotation, factor;
  double right, down;  // translations
  double fewest_bits;
};

Reach ReachOf(PolicyConfig::Type type, ImageSize size) {
  if (type == PolicyConfig::TRIVIAL_AUGMENT_WIDE) return {0.99, 135, 0.99, 32, 32, 2};
  constexpr double kShare = 150.0 / 331;
  return {0.3, 30, 0.9, kShare * size.width, kShare * size.height, 4};
}

Range RangeOf(PixelOperationKind kind, const Reach& reach) {
  switch (kind) {
    case PixelOperationKind::kIdentity:
    case PixelOperationKind::kAutoContrast:
    case PixelOperationKind::kEqualize:
      return {};
    case PixelOperationKind::kShearX:
    case PixelOperationKind::kShearY:
      return {0, reach.shear, true};
    case PixelOperationKind::kTranslateX:
      return {0, reach.right, true};
    case PixelOperationKind::kTranslateY:
      return {0, reach.down, true};
    case PixelOperationKind::kRotate:
      return {0, reach.rotation, true};
    case PixelOperationKind::kBrightness:
    case PixelOperationKind::kColor:
    case PixelOperationKind::kContrast:
    case PixelOperationKind::kSharpness:
      return {0, reach.factor, true};
    case PixelOperationKind::kPosterize:
      return {8, reach.fewest_bits, false, true};
    case PixelOperationKind::kSolarize:
      return {255, 0};
  }
  return {};
}

}  // namespace

std::vector<PixelOperation> DrawOperations(const PolicyConfig& policy, ImageSize size,
                                           Random* random) {
  if (policy.type() == PolicyConfig::NONE) return {};
  const bool rand_augment = policy.type() == PolicyConfig::RAND_AUGMENT;
  const Reach reach = ReachOf(policy.type(), size);
  std::vector<PixelOperation> operations(rand_augment ? policy.operations() : 1);
  for (PixelOperation& operation : operations) {
    operation.kind = static_cast<PixelOperationKind>(random->Below(kPixelOperationKinds));
    const Range range = RangeOf(operation.kind, reach);
    const int bin =
        rand_augment ? policy.magnitude() : static_cast<int>(random->Below(kMagnitudes));
    const bool negative = (random->Next() & 1) != 0;
    operation.magnitude = (range.random_sign && negative ? -1 : 1) * range.At(bin);
  }
  return operations;
}

ImageWindow DrawErased(const ErasingConfig& erasing, ImageSize size, Random* random) {
  if (random->Uniform() >= erasing.probability()) return {};
  for (int i = 0; i < kErasingTries; ++i) {
    const auto [height, width] = DrawSize(erasing, size, random);
    if (width >= size.width || height >= size.height) continue;
    const auto top = static_cast<int>(random->Below(size.height - height + 1));
    const auto left = static_cast<int>(random->Below(size.width - width + 1));
    return {top, left, height, width};
  }
  return {};
}

}  // namespace gf
