#include "data/sample_reader.h"

#include <glog/logging.h>

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "core/random.h"

namespace gf {

SampleReader::SampleReader(const DataConfig& config, uint64_t seed, bool random, int64_t classes)
    : channels_(config.channels()),
      seed_(seed),
      skip_(config.on_error() == DataConfig::SKIP),
      augment_(config, random) {
  if (channels_ != 1 && channels_ != 3) {
    ThrowUserError("channels: ", channels_, ", expected 1 (grayscale) or 3 (RGB)");
  }
  source_ = OpenSource(DataConfig::Format_Name(config.format()), {config.source(), skip_});
  if (classes > 0) CheckLabels(classes);
  image_size_ = FindImageSize();
}

void SampleReader::CheckLabels(int64_t classes) const {
  for (int64_t i = 0; i < source_->size(); ++i) {
    if (source_->Label(i) >= classes) {
      ThrowUserError(source_->Where(i), ": label ", source_->Label(i), ", expected 0 to ",
                     classes - 1, " because the net tells ", classes, " classes apart");
    }
  }
}

ImageSize SampleReader::FindImageSize() {
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
      return augment_.OutputSize(*found);
    } catch (const UserError& error) {
      ThrowUserError(source_->Where(i), ": ", error.what());
    }
  }
  ThrowUserError("all ", source_->size(), " images are damaged; the log names them");
}

void SampleReader::CheckSize(ImageSize in) const {
  const ImageSize size = augment_.OutputSize(in);
  if (size != image_size_) {
    ThrowUserError("an image of ", size.ToString(), ", but the first one has ",
                   image_size_.ToString(),
                   "; set crop_size, or resize_height and resize_width, to make them equal");
  }
}

bool SampleReader::Read(SampleUse use, uint8_t* out, int64_t* label, SampleScratch* scratch) const {
  if (skip_ && IsKnownDamaged(use.index)) return false;
  try {
    Produce(use, out, label, scratch);
    return true;
  } catch (const SampleError& error) {
    Damaged(use.index, error.what());
    return false;
  } catch (const UserError& error) {
    ThrowUserError(source_->Where(use.index), ": ", error.what());
  }
}

void SampleReader::Produce(SampleUse use, uint8_t* out, int64_t* label,
                           SampleScratch* scratch) const {
  Record& record = scratch->record;
  source_->Read(use.index, &record);
  *label = record.label;
  const Random random(seed_, StreamId(RandomUse::kAugment, use.epoch, use.index));

  // Pixels go straight into `out` where nothing but mirroring is left to do.
  ImageSize size;
  const uint8_t* pixels = nullptr;
  const auto place = [&](ImageSize in) {
    CheckSize(in);
    return augment_.KeepsPixels(in) ? out : scratch->pixels.Reserve(in.pixels() * channels_);
  };
  if (!record.raw) {
    uint8_t* to = nullptr;
    const auto remember = [&](ImageSize in) { return to = place(in); };
    size = DecodeImage(record.data, record.size, channels_, std::ref(remember));
    pixels = to;
  } else {
    size = record.raw_size;
    if (record.raw_channels == channels_ && !augment_.KeepsPixels(size)) {
      CheckSize(size);
      pixels = record.data;
    } else {
      uint8_t* to = place(size);
      ConvertChannels(record.data, record.raw_channels, size.pixels(), channels_, to);
      pixels = to;
    }
  }
  if (pixels == out) {
    augment_.ApplyInPlace(out, size, channels_, random);
  } else {
    augment_.Apply(pixels, size, channels_, random, out, &scratch->resized);
  }
}

void SampleReader::Damaged(int64_t index, const std::string& what) const {
  const std::string message = StrCat(source_->Where(index), ": ", what);
  if (!skip_) {
    ThrowUserError(message, "; remove the sample, or set on_error: SKIP to leave such out");
  }
  std::lock_guard<std::mutex> lock(mutex_);
  if (damaged_.insert(index).second) LOG(WARNING) << "left out: " << message;
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
