#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/batch.h"
#include "core/config/job.pb.h"
#include "data/augment/augment.h"
#include "data/augment/picture.h"
#include "data/formats/record_source.h"
#include "data/loader/normalization.h"
#include "data/loader/pixel_cache.h"
#include "data/loader/sampler.h"

namespace gf {

// Scratch memory of a thread that produces samples.
struct SampleScratch : PictureScratch {
  Record record;
  ByteBuffer pixels;
  Recipe recipe;  // that the last sample's pixels follow
  std::vector<float> labels;
};

// Produces pixels and label of single samples: reads, decodes and augments. A pure function of
// (config, seed, epoch, sample). Safe to use from several threads. In training with
// device_cache_mib, images are only resized; CutOf returns the remaining crop and mirroring.
class SampleReader {
 public:
  // Opens the data set of the config and finds the size of its images. CheckData has accepted
  // `config`. `classes`: number of classes of the net; 0 = labels are not checked. `class_names`:
  // their names, or none (LoaderOptions). Throws UserError for an unreadable data set and a label
  // out of range (names the sample).
  SampleReader(const DataConfig& config, uint64_t seed, bool random, int64_t classes,
               const std::vector<std::string>& class_names);

  const RecordSource& source() const { return *source_; }
  // Size of an image as it enters the net, and as Read produces it.
  ImageSize image_size() const { return image_size_; }
  ImageSize read_size() const { return read_size_; }
  int channels() const { return format_.channels; }
  // Whose type() the images have.
  const Normalization& normalization() const { return normalization_; }
  int64_t image_bytes() const {
    return read_size_.pixels() * format_.channels *
           static_cast<int64_t>(SizeOf(normalization_.type()));
  }
  // Whether Read produces uncropped images, for CutOf (device_cache_mib).
  bool whole() const { return whole_; }

  // Writes image_bytes() bytes to `out`: UINT8 in the order H, W, C or FP32 in the order C, H, W,
  // aligned to 4 bytes. For a damaged sample it returns false (on_error: SKIP), writes a gray image
  // (REPLACE) or throws UserError (FAIL). Also throws UserError, naming the sample, if the image
  // differs in size from the first one and no setting makes sizes equal, or from the mean image.
  bool Read(SampleUse use, void* out, int64_t* label, SampleScratch* scratch) const;

  // Numbers of Batch::label_values per image; 0: images have one class each.
  int64_t label_values() const { return label_values_; }
  // Writes the numbers of a sample for this image of a batch.
  void ReadLabelValues(int64_t index, int64_t image, Batch* batch, SampleScratch* scratch) const;

  // The part of an uncropped image for this use.
  ImageCut CutOf(SampleUse use) const;

  // Hints that this sample will be read soon; returns at once.
  void WillRead(int64_t index) const;

  // Hints that this sample will not be read soon.
  void Drop(int64_t index) const;

  // Null without a cache.
  const PixelCache* cache() const { return cache_.get(); }
  // Number of damaged samples found so far, including those found when the source was opened.
  int64_t skipped() const;

 private:
  int64_t pixel_bytes() const { return read_size_.pixels() * format_.bytes(); }
  std::unique_ptr<PixelCache> OpenCache(const DataConfig& config) const;
  // Read without the normalization.
  bool ReadPixels(SampleUse use, uint8_t* out, int64_t* label, SampleScratch* scratch) const;
  bool ReadCached(SampleUse use, uint8_t* out, SampleScratch* scratch) const;
  void Produce(SampleUse use, uint8_t* out, int64_t* label, SampleScratch* scratch) const;
  // Writes the replacement for a damaged image.
  void FillGray(uint8_t* out) const;
  // Draws what happens to an image of this size.
  Recipe Draw(ImageSize size, SampleUse use) const;
  // The recipe that Read follows: with a device cache, the whole image.
  Recipe RecipeOf(ImageSize size, SampleUse use) const;
  void FindImageSize(const DataConfig& config, bool random);
  // An image of this size must fit every size_phase of training.
  static void CheckPhases(const DataConfig& config, ImageSize in);
  void CheckLabels(int64_t classes) const;
  void CheckSize(ImageSize in) const;
  // Throws, or records the sample as damaged, depending on on_error.
  void Damaged(int64_t index, const std::string& what) const;
  bool IsKnownDamaged(int64_t index) const;

  const PixelFormat format_;
  const uint64_t seed_;
  const DataConfig::OnError on_error_;
  const Augment augment_;
  const bool alternates_;  // mirrors in alternate epochs
  const Normalization normalization_;
  std::unique_ptr<RecordSource> source_;
  int64_t label_values_ = 0;
  const bool whole_;
  ImageSize image_size_, read_size_;
  std::unique_ptr<PixelCache> cache_;  // of resized images

  mutable std::mutex mutex_;
  mutable std::unordered_set<int64_t> damaged_;
};

}  // namespace gf
