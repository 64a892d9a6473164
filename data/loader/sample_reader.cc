#include "data/loader/sample_reader.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

#include "core/config/job_checks.h"
#include "core/error.h"
#include "core/random.h"
#include "core/readable.h"
#include "data/formats/class_match.h"

namespace gf {
namespace {

// Gray level of the replacement for a damaged image, of 8 and of 16 bits.
constexpr uint8_t kGray = 128;
constexpr uint16_t kWideGray = kGray * 257;

// Images with the same keys may be others elsewhere.
std::string PlaceOf(const std::string& path) {
  return path.empty() ? "" : std::filesystem::absolute(path).lexically_normal().string();
}

// Damaged samples that get a warning each. A data set of the wrong kind would print millions.
constexpr size_t kMostWarnings = 20;

}  // namespace

SampleReader::SampleReader(const DataConfig& config, uint64_t seed, bool random, int64_t classes,
                           const std::vector<std::string>& class_names)
    : format_(PixelFormatOf(config)),
      seed_(seed),
      on_error_(config.on_error()),
      augment_(config, random),
      alternates_(random && config.mirror() && config.alternate_mirror()),
      normalization_(config, random),
      whole_(random && config.device_cache_mib() > 0) {
  SourceOptions options = SourceOptionsOf(config);
  options.net_classes = class_names;
  source_ =
      MatchClasses(OpenSource(DataConfig::Format_Name(config.format()), options), class_names);
  if (source_->label_type() != LabelConfig::CLASS) label_values_ = source_->classes();
  if (classes > 0) CheckLabels(classes);
  FindImageSize(config, random);
  if (config.cache_mib() != 0) cache_ = OpenCache(config);
}

std::unique_ptr<PixelCache> SampleReader::OpenCache(const DataConfig& config) const {
  constexpr int64_t kMiB = 1 << 20;
  const int64_t bytes = config.cache_mib() * kMiB;
  if (config.cache_file().empty()) return NewMemoryCache(format_.bytes(), bytes);
  // Everything that the pixels depend on: the samples, and the settings for decoding and resizing.
  const bool narrow = format_.type == PixelType::kUINT8;
  std::string text =
      StrCat(narrow ? StrCat(format_.channels) : format_.ToString(), " ", config.resize_shorter(),
             " ", config.resize_height(), " ", config.resize_width(), " ", config.filter(), " ",
             augment_.Exact() ? "exact" : "quick", " ", source_->Describe(), " ",
             PlaceOf(config.source()), " ", PlaceOf(config.root_folder()));
  uint64_t identity = XXH3_64bits(text.data(), text.size());
  for (int64_t i = 0; i < source_->size(); ++i) {
    text = source_->Key(i);
    identity = XXH3_64bits_withSeed(text.data(), text.size(), identity);
  }
  return OpenCacheFile(source_->size(), format_.bytes(), bytes, config.cache_file(), identity);
}

void SampleReader::CheckLabels(int64_t classes) const {
  for (int64_t i = 0; i < source_->size(); ++i) {
    if (source_->Label(i) >= classes) {
      ThrowUserError(source_->Where(i), ": label ", source_->Label(i), ", expected 0 to ",
                     classes - 1, " because the net has ", classes, " classes");
    }
  }
}

void SampleReader::ReadLabelValues(int64_t index, int64_t image, Batch* batch,
                                   SampleScratch* scratch) const {
  if (label_values_ == 0) return;
  float* const out = batch->label_values.data() + image * label_values_;
  source_->Labels(index, &scratch->labels);
  if (source_->label_type() == LabelConfig::VALUES) {
    std::copy(scratch->labels.begin(), scratch->labels.end(), out);
    return;
  }
  std::fill_n(out, label_values_, 0.f);
  for (const float label : scratch->labels) out[static_cast<int64_t>(label)] = 1;
}

void SampleReader::FindImageSize(const DataConfig& config, bool random) {
  Record record;
  for (int64_t i = 0; i < source_->size(); ++i) {
    std::optional<ImageSize> found;
    try {
      source_->Read(i, &record);
      found = record.raw ? record.raw_size : ProbeImage(record.data, record.size).size;
    } catch (const SampleError& error) {
      Damaged(i, error.what());
    }
    if (!found) continue;
    try {
      normalization_.CheckSize(augment_.ResizedSize(*found));
      image_size_ = augment_.OutputSize(*found);
      read_size_ = whole_ ? augment_.ResizedSize(*found) : image_size_;
      if (random) CheckPhases(config, *found);
      return;
    } catch (const UserError& error) {
      ThrowUserError(source_->Where(i), ": ", error.what());
    }
  }
  ThrowUserError(Counted(source_->size(), "image"),
                 " and none can be read; the warnings name the damage");
}

void SampleReader::CheckPhases(const DataConfig& config, ImageSize in) {
  for (int i = 0; i < config.size_phase_size(); ++i) {
    try {
      Augment(DataOfPhase(config, i), /*random=*/true).OutputSize(in);
    } catch (const UserError& error) {
      ThrowUserError("in size_phase[", i, "], ", error.what());
    }
  }
}

void SampleReader::CheckSize(ImageSize in) const {
  const ImageSize resized = augment_.ResizedSize(in);
  normalization_.CheckSize(resized);
  const ImageSize size = augment_.OutputSize(in);
  if (size != image_size_) {
    ThrowUserError("an image of ", size.ToString(), ", but the first one has ",
                   image_size_.ToString(),
                   "; set crop_size, or resize_height and resize_width, to make them equal");
  }
  if (whole_ && resized != read_size_) {
    ThrowUserError(
        "an image of ", resized.ToString(), " before it is cropped, but the first one has ",
        read_size_.ToString(),
        "; with device_cache_mib they must be equal: set resize_height and resize_width");
  }
}

bool SampleReader::Read(SampleUse use, void* out, int64_t* label, SampleScratch* scratch) const {
  const bool pass_on = normalization_.type() == DType::kUINT8;
  uint8_t* const pixels =
      pass_on ? static_cast<uint8_t*>(out) : scratch->pixels.Reserve(pixel_bytes());
  if (!ReadPixels(use, pixels, label, scratch)) return false;
  if (!pass_on) normalization_.Apply(scratch->recipe, pixels, static_cast<float*>(out));
  normalization_.Erase(scratch->recipe, out);
  return true;
}

bool SampleReader::ReadPixels(SampleUse use, uint8_t* out, int64_t* label,
                              SampleScratch* scratch) const {
  const bool known = on_error_ != DataConfig::FAIL && IsKnownDamaged(use.index);
  if (!known) {
    try {
      Produce(use, out, label, scratch);
      return true;
    } catch (const SampleError& error) {
      Damaged(use.index, error.what());
    } catch (const UserError& error) {
      ThrowUserError(source_->Where(use.index), ": ", error.what());
    }
  }
  if (on_error_ == DataConfig::SKIP) return false;
  *label = source_->Label(use.index);
  FillGray(out);
  scratch->recipe = Recipe();
  scratch->recipe.out = read_size_;
  if (normalization_.has_image()) {
    scratch->recipe = Draw(normalization_.size(), use);
    scratch->recipe.erased = ImageWindow();
  }
  return true;
}

void SampleReader::FillGray(uint8_t* out) const {
  const int64_t numbers = read_size_.pixels() * format_.channels;
  if (format_.type == PixelType::kUINT8) {
    std::fill_n(out, numbers, kGray);
  } else if (format_.type == PixelType::kUINT16) {
    std::fill_n(reinterpret_cast<uint16_t*>(out), numbers, kWideGray);
  } else {  // what becomes 0
    auto* const floats = reinterpret_cast<float*>(out);
    const std::vector<float>& mean = normalization_.mean();
    for (int64_t i = 0; i < numbers; ++i) floats[i] = mean[i % format_.channels];
  }
}

Recipe SampleReader::Draw(ImageSize size, SampleUse use) const {
  const auto stream = [&](int64_t epoch) {
    return Random(seed_, StreamId(RandomUse::kAugment, epoch, use.index));
  };
  Recipe recipe = augment_.Draw(size, stream(use.epoch));
  if (alternates_) {
    Random first = stream(0);
    recipe.mirrored = augment_.DrawMirror(&first) != (use.epoch % 2 != 0);
  }
  return recipe;
}

Recipe SampleReader::RecipeOf(ImageSize size, SampleUse use) const {
  return whole_ ? augment_.Whole(size) : Draw(size, use);
}

ImageCut SampleReader::CutOf(SampleUse use) const {
  const Recipe recipe = Draw(read_size_, use);
  return {recipe.window.top, recipe.window.left, recipe.mirrored ? 1 : 0, recipe.reflected ? 1 : 0};
}

void SampleReader::Produce(SampleUse use, uint8_t* out, int64_t* label,
                           SampleScratch* scratch) const {
  *label = source_->Label(use.index);
  if (cache_ && ReadCached(use, out, scratch)) return;
  Record& record = scratch->record;
  source_->Read(use.index, &record);
  // Always resize twice if there is a cache: results must not depend on whether an image is in it.
  PictureSink sink(
      augment_, format_,
      [&](ImageSize size) {
        CheckSize(size);
        return RecipeOf(size, use);
      },
      /*keep_resized=*/cache_ != nullptr, out, scratch);
  if (record.raw) {
    SendRows(record.data, record.raw_size, record.raw_format, &sink);
  } else {
    DecodeRows(record.data, record.size, &sink);
  }
  if (cache_) cache_->Keep(use.index, sink.resized(), sink.recipe().resized);
  sink.Finish();
  scratch->recipe = sink.recipe();
}

bool SampleReader::ReadCached(SampleUse use, uint8_t* out, SampleScratch* scratch) const {
  ImageSize size;
  const std::shared_ptr<const uint8_t> pixels = cache_->Find(use.index, &size, &scratch->resized);
  if (!pixels) return false;
  CheckSize(size);
  scratch->recipe = RecipeOf(size, use);
  FinishPicture(scratch->recipe, augment_.filter(), format_, pixels.get(), out, scratch);
  return true;
}

void SampleReader::WillRead(int64_t index) const {
  if (cache_ && cache_->Holds(index)) return;
  source_->WillRead(index);
}

void SampleReader::Drop(int64_t index) const {
  if (cache_) cache_->Drop(index);
}

void SampleReader::Damaged(int64_t index, const std::string& what) const {
  const std::string message = StrCat(source_->Where(index), ": ", what);
  if (on_error_ == DataConfig::FAIL) {
    ThrowUserError(message, "; remove the sample, or set on_error: SKIP to leave out damaged ones");
  }
  std::lock_guard<std::mutex> lock(mutex_);
  if (!damaged_.insert(index).second || damaged_.size() > kMostWarnings) return;
  const bool replaced = on_error_ == DataConfig::REPLACE;
  PrintWarning(replaced ? "replaced by a gray image: " : "left out: ", message);
  if (damaged_.size() == kMostWarnings) {
    PrintWarning(kMostWarnings, " damaged samples so far: further ones get no warning");
  }
}

bool SampleReader::IsKnownDamaged(int64_t index) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return damaged_.count(index) != 0;
}

int64_t SampleReader::skipped() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return source_->skipped() + static_cast<int64_t>(damaged_.size());
}

}  // namespace gf
