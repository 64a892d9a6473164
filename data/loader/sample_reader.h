#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

#include "core/batch.h"
#include "core/config/job.pb.h"
#include "data/augment/augment.h"
#include "data/formats/record_source.h"
#include "data/loader/pixel_cache.h"
#include "data/loader/sampler.h"

namespace gf {

// Memory that one thread needs to produce samples.
struct SampleScratch {
  Record record;
  ByteBuffer resized;
  Renderer renderer;
};

// Produces the pixels and label of single samples: read, decode, augment. A pure function
// of (config, seed, epoch, sample). Safe to use from several threads. In training with
// device_cache_mib images are only resized; CutOf tells what else is to be done.
class SampleReader {
 public:
  // Opens the data set that the config names and finds the size of its images. classes: how
  // many the net can tell apart, 0 = not checked. `config` as CheckData checked it. Throws
  // UserError for a data set that cannot be read and a label out of range (names the sample).
  SampleReader(const DataConfig& config, uint64_t seed, bool random, int64_t classes);

  const RecordSource& source() const { return *source_; }
  // As it enters a net, and as Read produces it.
  ImageSize image_size() const { return image_size_; }
  ImageSize read_size() const { return read_size_; }
  int channels() const { return channels_; }
  int64_t image_bytes() const { return read_size_.pixels() * channels_; }
  // Whether Read leaves images uncut, for CutOf (device_cache_mib).
  bool whole() const { return whole_; }

  // Writes image_bytes() to `out`. False if the sample is damaged and the policy is SKIP; with
  // REPLACE such an image is gray.
  // Throws UserError naming the sample: damaged (policy FAIL), or of another size than the
  // first and nothing is set that makes them equal.
  bool Read(SampleUse use, uint8_t* out, int64_t* label, SampleScratch* scratch) const;

  // The part of a whole image that this use of it wants.
  ImageCut CutOf(SampleUse use) const;

  // A hint that this sample will be read soon; returns at once.
  void WillRead(int64_t index) const;

  // A hint that this sample will not be read soon.
  void Drop(int64_t index) const;

  // Null without cache.
  const PixelCache* cache() const { return cache_.get(); }
  // Samples found damaged so far, when the source was opened or later.
  int64_t skipped() const;

 private:
  class Sink;

  std::unique_ptr<PixelCache> OpenCache(const DataConfig& config) const;
  bool ReadCached(const Random& random, int64_t index, uint8_t* out, SampleScratch* scratch) const;
  // Follows a recipe from the resized image on.
  void Finish(const Recipe& recipe, const uint8_t* resized, uint8_t* out,
              SampleScratch* scratch) const;
  void Produce(SampleUse use, uint8_t* out, int64_t* label, SampleScratch* scratch) const;
  Random RandomOf(SampleUse use) const;
  Recipe RecipeOf(ImageSize size, const Random& random) const;
  void FindImageSize();
  void CheckLabels(int64_t classes) const;
  void CheckSize(ImageSize in) const;
  // Throws or remembers, as the policy says.
  void Damaged(int64_t index, const std::string& what) const;
  bool IsKnownDamaged(int64_t index) const;

  const int channels_;
  const uint64_t seed_;
  const DataConfig::OnError on_error_;
  const Augment augment_;
  std::unique_ptr<RecordSource> source_;
  const bool whole_;
  ImageSize image_size_, read_size_;
  std::unique_ptr<PixelCache> cache_;  // of resized images

  mutable std::mutex mutex_;
  mutable std::unordered_set<int64_t> damaged_;
};

}  // namespace gf
