#include "data/augment/augment.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "data/augment/policy.h"

namespace gf {
namespace {

// Number of random windows to try before the largest possible one is used.
constexpr int kTries = 10;

// Half of a number, rounded to nearest with ties to even, as torchvision centers its crops.
int CenterOf(int free) { return free / 2 + (free % 2 != 0 && free / 2 % 2 != 0 ? 1 : 0); }

// The part of an axis of `extent` resized pixels that a window covers; *before is the number of
// zeros before it. `in` is the extent of the original image.
Axis CutAxis(int in, int extent, int begin, int length, int* before) {
  const int from = std::max(begin, 0), to = std::min(begin + length, extent);
  *before = from - begin;
  const double scale = static_cast<double>(in) / extent;
  return {std::max(to - from, 0), from * scale, scale, 0, in};
}

bool ReachesOutside(const ImageWindow& window, ImageSize image) {
  return window.top < 0 || window.top + window.height > image.height || window.left < 0 ||
         window.left + window.width > image.width;
}

// An axis that shows only the window.
Axis WindowAxis(int begin, int length, int outputs) {
  return {outputs, static_cast<double>(begin), static_cast<double>(length) / outputs, begin,
          begin + length};
}

}  // namespace

Augment::Augment(const DataConfig& config, bool random) : config_(config), random_(random) {}

ImageSize Augment::ResizedSize(ImageSize in) const {
  if (config_.resize_height() > 0) return {config_.resize_height(), config_.resize_width()};
  const int64_t to = config_.resize_shorter();
  if (to == 0) return in;
  const int64_t shorter = std::min(in.height, in.width), longer = std::max(in.height, in.width);
  const int64_t other = longer * to / shorter;
  if (other * to > kMaxPixels) {
    ThrowUserError("an image of ", in.ToString(), " would have ", other * to,
                   " pixels with resize_shorter: ", to, ", expected at most ", kMaxPixels);
  }
  const int kept = static_cast<int>(to), rounded = static_cast<int>(other);
  return in.height <= in.width ? ImageSize{kept, rounded} : ImageSize{rounded, kept};
}

ImageSize Augment::OutputSize(ImageSize in) const {
  const ImageSize resized = ResizedSize(in);
  const int pad = config_.pad(), crop = config_.crop_size();
  const ImageSize padded = {resized.height + 2 * pad, resized.width + 2 * pad};
  if (config_.pad_mode() == DataConfig::REFLECT && pad > 0 &&
      pad >= std::min(resized.height, resized.width)) {
    ThrowUserError("pad: ", pad, " with pad_mode: REFLECT needs images of more than ", pad,
                   " pixels in height and width, but an image has ", resized.ToString(),
                   "; lower pad, or set resize_shorter to at least ", pad + 1);
  }
  if (crop == 0) {
    if (padded.pixels() > kMaxPixels) {
      ThrowUserError("pad: ", pad, " gives an image of ", padded.ToString(), ", expected at most ",
                     kMaxPixels, " pixels");
    }
    return padded;
  }
  const bool enlarges = random_ && config_.random_resized_crop();
  if (!enlarges && (crop > padded.height || crop > padded.width)) {
    ThrowUserError("crop_size: ", crop, " is larger than the image, ", padded.ToString(),
                   "; lower it, or set resize_shorter to at least ", crop);
  }
  return {crop, crop};
}

Recipe Augment::Draw(ImageSize in, Random random) const {
  Recipe recipe;
  recipe.resized = ResizedSize(in);
  recipe.out = OutputSize(in);
  recipe.mirrored = DrawMirror(&random);
  if (random_ && config_.random_resized_crop()) {
    DrawResizedCrop(recipe.resized, &random, &recipe);
  } else {
    const int pad = config_.pad();
    const int free_y = recipe.resized.height + 2 * pad - recipe.out.height;
    const int free_x = recipe.resized.width + 2 * pad - recipe.out.width;
    recipe.window = {CenterOf(free_y) - pad, CenterOf(free_x) - pad, recipe.out.height,
                     recipe.out.width};
    if (random_ && config_.random_crop()) {
      recipe.window.top = static_cast<int>(random.Below(free_y + 1)) - pad;
      recipe.window.left = static_cast<int>(random.Below(free_x + 1)) - pad;
    }
    recipe.reflected =
        config_.pad_mode() == DataConfig::REFLECT && ReachesOutside(recipe.window, recipe.resized);
  }
  if (!random_) return recipe;
  // Drawn in this order so that a policy changes no other choice.
  recipe.colors = DrawColorChange(config_, &random);
  recipe.operations = DrawOperations(config_.policy(), recipe.out, &random);
  recipe.erased = DrawErased(config_.erasing(), recipe.out, &random);
  return recipe;
}

bool Augment::DrawMirror(Random* random) const {
  return random_ && config_.mirror() && (random->Next() & 1) != 0;
}

Recipe Augment::Whole(ImageSize in) const {
  Recipe recipe;
  recipe.resized = recipe.out = ResizedSize(in);
  recipe.window = {0, 0, recipe.out.height, recipe.out.width};
  return recipe;
}

void Augment::DrawResizedCrop(ImageSize in, Random* random, Recipe* recipe) const {
  for (int i = 0; i < kTries; ++i) {
    const auto [height, width] = DrawSize(config_, in, random);
    if (width < 1 || width > in.width || height < 1 || height > in.height) continue;
    const auto top = static_cast<int>(random->Below(in.height - height + 1));
    const auto left = static_cast<int>(random->Below(in.width - width + 1));
    recipe->window = {top, left, height, width};
    return;
  }
  // Falls back to the largest window of an allowed shape, from the center.
  const double aspect = static_cast<double>(in.width) / in.height;
  const double allowed = std::clamp<double>(aspect, config_.min_aspect(), config_.max_aspect());
  ImageSize size = in;
  if (allowed < aspect) size.width = static_cast<int>(std::lround(in.height * allowed));
  if (allowed > aspect) size.height = static_cast<int>(std::lround(in.width / allowed));
  size = {std::clamp(size.height, 1, in.height), std::clamp(size.width, 1, in.width)};
  recipe->window = {(in.height - size.height) / 2, (in.width - size.width) / 2, size.height,
                    size.width};
}

bool CutsTwice(const Recipe& recipe, ImageSize in) {
  const bool rescales =
      recipe.window.height != recipe.out.height || recipe.window.width != recipe.out.width;
  return recipe.reflected || (rescales && recipe.resized != in);
}

View ViewOf(const Recipe& recipe, ImageSize in, DataConfig::Filter filter) {
  View view;
  view.size = recipe.out;
  view.mirrored = recipe.mirrored;
  view.filter = filter;
  const ImageWindow& window = recipe.window;
  if (window.height != recipe.out.height || window.width != recipe.out.width) {
    view.y = WindowAxis(window.top, window.height, recipe.out.height);
    view.x = WindowAxis(window.left, window.width, recipe.out.width);
    return view;
  }
  view.y = CutAxis(in.height, recipe.resized.height, window.top, window.height, &view.top);
  view.x = CutAxis(in.width, recipe.resized.width, window.left, window.width, &view.left);
  return view;
}

PixelFormat PixelFormatOf(const DataConfig& config) {
  static_assert(static_cast<int>(PixelType::kUINT8) == DataConfig::UINT8 &&
                static_cast<int>(PixelType::kUINT16) == DataConfig::UINT16 &&
                static_cast<int>(PixelType::kFP32) == DataConfig::FP32);
  return {static_cast<PixelType>(config.pixel_type()), config.channels()};
}

void CheckTestShifts(const DataConfig& config, ImageSize image) {
  const int shift = config.test_shifts();
  if (shift == 0 || shift < std::min(image.height, image.width)) return;
  ThrowUserError("test_shifts: ", shift, ", but the net takes images of ", image.ToString(),
                 ": set it to less than both");
}

Shape ImageShapeOf(const DataConfig& config) {
  if (config.crop_size() > 0) return {config.channels(), config.crop_size(), config.crop_size()};
  if (config.resize_height() == 0) return {};
  return {config.channels(), config.resize_height() + 2 * config.pad(),
          config.resize_width() + 2 * config.pad()};
}

}  // namespace gf
