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
  // Decoding threads where the config says 0; 0 here = the processors of this process.
  int workers = 0;
  // How many classes the net tells apart; 0 = labels are not checked.
  int64_t classes = 0;
  // Takes the batches in; keeps images if the config says so (device_cache_mib).
  Device* device = nullptr;
};

// Reads, decodes and augments batches ahead of whoever uses them. One thread at a time may
// call it. What it delivers depends on config, seed, rank, world and position only, not on
// the number of workers.
//
// Note [Positions]: training consumes one sequence of samples (Sampler). Each call of Next on
// all ranks consumes the next world x batch_size positions of it: rank r gets the r-th run of
// batch_size. A step with iter_size batches is iter_size calls. position() is where the next
// call starts; Seek(position()) on a new Loader continues exactly, with another world size
// too.
class Loader {
 public:
  // Throws UserError: wrong settings, nothing or nothing good at the source, a label out of
  // range.
  Loader(const DataConfig& config, const LoaderOptions& options);
  // Never waits longer than for the images that are being decoded.
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Samples in the data set, and labels' upper limit.
  int64_t size() const { return reader_.source().size(); }
  int64_t classes() const { return reader_.source().classes(); }
  std::vector<std::string> class_names() const { return reader_.source().ClassNames(); }
  std::string Describe() const { return reader_.source().Describe(); }
  // C, H, W of every image.
  Shape image_shape() const;
  int workers() const { return workers_; }

  // The next batch, of batch_size images. It is valid until the next call of Next or Seek; a
  // copy of it keeps the pixels as long as it lives. In evaluation the images at its end that
  // only fill it up are `padding` (zeros, label 0), and there are batches() calls to a pass.
  // Throws UserError for damaged data, and again if called again.
  const Batch& Next();

  // Whether the next batch is decoded (or damaged), so that Next does not wait.
  bool Ready() const;

  // Continues from this position, at once: nothing is read to get there. Evaluation: 0, or
  // another multiple of world x batch_size.
  void Seek(int64_t position);
  int64_t position() const { return position_; }

  // Calls of Next that make up a pass of evaluation, the same on every rank.
  int64_t batches() const;

  // Evaluation: the number in the data set of each image of the last batch, padding left out.
  const std::vector<int64_t>& samples() const { return samples_; }
  // A sample's label, and where it lies: "shard.tar:key:offset".
  int64_t Label(int64_t sample) const { return reader_.source().Label(sample); }
  std::string Where(int64_t sample) const { return reader_.source().Where(sample); }

  // Seconds that the last Next waited for the workers.
  double waited() const { return waited_; }
  // Images in the cache and their bytes; 0 without cache_mib.
  int64_t cached_images() const { return reader_.cache() ? reader_.cache()->images() : 0; }
  int64_t cached_bytes() const { return reader_.cache() ? reader_.cache()->bytes() : 0; }
  // How many images the device can keep, how many it keeps, and the bytes of one; 0 without
  // device_cache_mib.
  int64_t device_places() const;
  int64_t kept_images() const { return places_ ? places_->images() : 0; }
  int64_t image_bytes() const { return reader_.image_bytes(); }
  // Damaged samples left out so far (on_error: SKIP), each counted once.
  int64_t skipped() const { return reader_.skipped(); }

 private:
  // One batch in the making. Note [Slots]: batch number b lies in slot b % slots_.size().
  // Workers take images by counting `next` up; whoever gets a number below batch_size owns
  // that image. A number taken by a straggler after the slot was given to a later batch is
  // as good as any: all that a worker needs is in the slot. Giving a slot to a batch ends
  // with the store to `next`.
  struct Slot {
    std::atomic<int64_t> next{0}, done{0};
    int64_t position = 0;  // of the first image, see Start
    Batch batch;
    // One per image: whether the image that was scheduled is there.
    std::vector<uint8_t> good;
    std::vector<int64_t> samples;  // those scheduled, if the device keeps images
    std::mutex error_mutex;
    int64_t error_image = 0;
    std::exception_ptr error;
  };

  Sampler NewSampler() const;
  void Start();
  void Stop();
  void Work();
  void ScheduleAhead();
  bool Schedule(int64_t number);
  void AllocateImages(Slot* slot) const;
  void Fill(Slot* slot, int64_t image, Sampler* sampler, SampleScratch* scratch);
  bool FillTraining(Slot* slot, int64_t image, Sampler* sampler, SampleScratch* scratch);
  void Compact(Slot* slot);

  const DataConfig config_;
  const LoaderOptions options_;
  const SampleReader reader_;
  const int workers_;
  const int64_t batch_size_;
  const SampleRange part_;  // evaluation
  Tensor kept_;             // on the device; no axes without device_cache_mib
  std::unique_ptr<DevicePlaces> places_;
  Sampler ahead_;     // training: finds what to announce to the source
  int64_t pass_ = 0;  // over the rank's share, see Note [Shares]

  int64_t position_ = 0;
  double waited_ = 0;
  std::vector<int64_t> samples_;
  // Numbers of batches, counted from the last Seek: handed out, and given to the workers.
  int64_t delivered_ = 0;
  int64_t start_position_ = 0;

  std::vector<std::unique_ptr<Slot>> slots_;
  std::mutex mutex_;
  std::condition_variable scheduled_changed_, batch_done_;
  int64_t scheduled_ = 0;  // written by the caller's thread only, under mutex_
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> threads_;  // the workers
};

}  // namespace gf
