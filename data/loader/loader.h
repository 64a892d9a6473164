#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/batch.h"
#include "core/config/job.pb.h"
#include "core/device.h"
#include "data/loader/batch_slot.h"
#include "data/loader/device_places.h"
#include "data/loader/sample_reader.h"
#include "data/loader/sampler.h"

namespace gf {

struct LoaderOptions {
  enum Mode {
    // Endless, shuffled, augmented: see Sampler.
    kTrain,
    // One pass in order, each sample exactly once over all ranks: see EvaluationPart.
    kEvaluate,
  };
  Mode mode = kTrain;
  uint64_t seed = 1;
  int rank = 0, world = 1;
  // Decoding threads if the config says 0; 0 here means one per processor of this process.
  int workers = 0;
  // Number of classes of the net; 0 = labels are not checked.
  int64_t classes = 0;
  // Names of the net's classes by number, with which those of the data are matched (MatchClasses);
  // none = labels are numbers of the net's classes.
  std::vector<std::string> class_names;
  // The device that consumes the batches; it keeps images if the config sets device_cache_mib.
  Device* device = nullptr;
};

// Reads, decodes and augments batches ahead of their use. Their images are UINT8, or FP32 and
// normalized; see Note [Mean images] and Note [Pixels of more bits]. Only one thread at a time may
// call it. The batches depend only on config, seed, rank, world and position, not on the number of
// workers.
//
// Note [Positions]
// Training consumes one sequence of samples (Sampler). When all ranks call Next, they consume the
// next world x batch_size positions; rank r gets the r-th run of batch_size positions. A step with
// iter_size batches makes iter_size calls. The next call starts at position(). Seek(position()) on
// a new Loader continues exactly, even with another world size.
class Loader {
 public:
  // Throws UserError for wrong settings, a source without usable samples, a mean_file that does not
  // fit, images that are too small for test_shifts, or a label out of range.
  Loader(const DataConfig& config, const LoaderOptions& options);
  // Waits at most for the images that are being decoded.
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Number of samples in the data set, and the number of classes (largest label + 1).
  int64_t size() const { return reader_.source().size(); }
  int64_t classes() const { return reader_.source().classes(); }
  std::vector<std::string> class_names() const { return reader_.source().ClassNames(); }
  // The kind of an image's labels. VALUES: classes() is their number, class_names() their names.
  LabelConfig::Type label_type() const { return reader_.source().label_type(); }
  std::string Describe() const { return reader_.source().Describe(); }
  // C, H, W of every image.
  Shape image_shape() const;
  int workers() const { return workers_; }

  // Returns the next batch, of batch_size images. It is valid until the next call of Next or Seek;
  // a copy of the batch keeps the pixels alive. In evaluation, `padding` counts the images at the
  // end that only fill up the batch (zeros, label 0), and a pass takes batches() calls. Throws
  // UserError for damaged data; later calls throw it again.
  const Batch& Next();

  // Whether the next batch is complete (or damaged), so that Next does not wait.
  bool Ready() const;

  // Continues from this position at once, without reading earlier samples. In evaluation, the
  // position must be a multiple of world x batch_size.
  void Seek(int64_t position);
  int64_t position() const { return position_; }

  // Number of calls of Next in a pass of evaluation, equal on every rank.
  int64_t batches() const;

  // Evaluation: the index in the data set of each image of the last batch, without padding.
  const std::vector<int64_t>& samples() const { return samples_; }
  // Whether outputs are means over images and their mirror images.
  bool test_flips() const { return config_.test_flips(); }
  // The pixels by which images move whose outputs count, too (DataConfig.test_shifts); 0: none.
  int test_shifts() const { return config_.test_shifts(); }
  // The label of a sample (RecordSource::Labels for more than one), and its location:
  // "shard.tar:key:offset".
  int64_t Label(int64_t sample) const { return reader_.source().Label(sample); }
  void Labels(int64_t sample, std::vector<float>* labels) const {
    reader_.source().Labels(sample, labels);
  }
  std::string Where(int64_t sample) const { return reader_.source().Where(sample); }

  // Seconds for which the last Next waited for workers.
  double waited() const { return waited_; }
  // Images in the cache; 0 without cache_mib.
  int64_t cached_images() const { return reader_.cache() ? reader_.cache()->images() : 0; }
  // Number of images that the device can keep and that it keeps, and bytes per image; 0 without
  // device_cache_mib.
  int64_t device_places() const;
  int64_t kept_images() const { return places_ ? places_->images() : 0; }
  int64_t image_bytes() const { return reader_.image_bytes(); }
  // A hash of the values in mean_file; 0 without one.
  uint64_t mean_file_hash() const { return reader_.normalization().mean_file_hash(); }
  // Number of damaged samples skipped so far (on_error: SKIP); each counts once.
  int64_t skipped() const { return reader_.skipped(); }

 private:
  Sampler NewSampler() const;
  void Start();
  void Stop();
  void Work();
  void ScheduleAhead();
  bool Schedule(int64_t number);
  std::unique_ptr<BatchSlot> NewSlot() const;
  void Fill(BatchSlot* slot, int64_t image, Sampler* sampler, SampleScratch* scratch);
  bool FillTraining(BatchSlot* slot, int64_t image, Sampler* sampler, SampleScratch* scratch);
  // Draws how to mix a batch of training, and mixes its label values.
  void Mix(Batch* batch) const;

  const DataConfig config_;
  const LoaderOptions options_;
  const SampleReader reader_;
  const int workers_;
  const int64_t batch_size_;
  const SampleRange part_;  // evaluation
  Tensor kept_;             // on the device; no axes without device_cache_mib
  std::unique_ptr<DevicePlaces> places_;
  Sampler ahead_;     // training: finds the samples to announce to the source
  int64_t pass_ = 0;  // over the rank's share, see Note [Shares]

  int64_t position_ = 0;
  double waited_ = 0;
  std::vector<int64_t> samples_;
  // Number of batches handed out since the last Seek.
  int64_t delivered_ = 0;
  int64_t start_position_ = 0;

  std::vector<std::unique_ptr<BatchSlot>> slots_;
  std::mutex mutex_;
  std::condition_variable scheduled_changed_, batch_done_;
  int64_t scheduled_ = 0;  // batches given to workers; only the caller's thread writes it
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> threads_;  // the workers
};

}  // namespace gf
