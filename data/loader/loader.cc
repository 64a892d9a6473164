#include "data/loader/loader.h"

#include <glog/logging.h>

#include <algorithm>
#include <chrono>

#include "core/config/job_checks.h"
#include "core/error.h"
#include "core/host_memory.h"
#include "core/readable.h"
#include "data/augment/mix.h"
#include "data/loader/workers.h"

namespace gf {
namespace {

// Maximum number of consecutive damaged samples that training tolerates.
constexpr int64_t kMaxDamagedRun = 1000;

static_assert(kMostChannels == kMaxChannels);

const DataConfig& Checked(const DataConfig& config, const LoaderOptions& options) {
  CheckData(config, options.mode == LoaderOptions::kTrain);
  return config;
}

int CountWorkers(const DataConfig& config, const LoaderOptions& options) {
  if (config.workers() > 0) return config.workers();
  if (options.workers > 0) return std::min(options.workers, kMostWorkers);
  return AvailableProcessors();
}

}  // namespace

Loader::Loader(const DataConfig& config, const LoaderOptions& options)
    : config_(Checked(config, options)),
      options_(options),
      reader_(config, options.seed, options.mode == LoaderOptions::kTrain, options.classes,
              options.class_names),
      workers_(CountWorkers(config, options)),
      batch_size_(config.batch_size()),
      part_(EvaluationPart(reader_.source().size(), options.rank, options.world)),
      ahead_(NewSampler()) {
  CHECK(options.rank >= 0 && options.rank < options.world);
  // One slot more than `prefetch`, for the batch that the caller holds.
  const int slots = config.prefetch() + 1;
  const auto label_bytes = static_cast<double>(reader_.label_values()) * sizeof(float);
  const double bytes = (static_cast<double>(reader_.image_bytes()) + label_bytes) * batch_size_;
  if (bytes * slots > HostMemory() || bytes > kMaxElements) {
    ThrowUserError("batch_size: ", WithCommas(batch_size_), " images take ", HumanBytes(bytes),
                   ", and ", Counted(slots, "batch", "batches"),
                   " are kept (prefetch: ", config.prefetch(), "), but this process can have ",
                   HumanBytes(HostMemory()), ": lower batch_size or prefetch");
  }
  CheckTestShifts(config, reader_.image_size());
  if (reader_.whole()) {
    const ImageSize size = reader_.read_size();
    CHECK(options.device != nullptr);
    kept_ = AllocatePlaces(options.device, {reader_.channels(), size.height, size.width},
                           config.device_cache_mib(), reader_.source().size());
  }
  for (int i = 0; i < slots; ++i) slots_.push_back(NewSlot());
  Start();
}

Loader::~Loader() { Stop(); }

Sampler Loader::NewSampler() const {
  Shares shares;
  if (options_.mode == LoaderOptions::kTrain) {
    shares = {options_.world, batch_size_, config_.exchange()};
    if (shares.exchange < 1 && shares.world > size()) {
      ThrowUserError("exchange: ", Counted(size(), "image"), " cannot be divided among ",
                     shares.world, " ranks; remove the field");
    }
  }
  return Sampler(size(), options_.seed, config_.shuffle(), config_.shuffle_window(), shares);
}

std::unique_ptr<BatchSlot> Loader::NewSlot() const {
  const ImageSize size = reader_.read_size();
  const Normalization& normalization = reader_.normalization();
  auto slot = std::make_unique<BatchSlot>();
  AllocateImages({batch_size_, reader_.channels(), size.height, size.width}, normalization.type(),
                 &slot->batch);
  slot->batch.labels.resize(batch_size_);
  slot->batch.label_values.resize(batch_size_ * reader_.label_values());
  slot->good.resize(batch_size_);
  if (reader_.whole()) {
    slot->samples.resize(batch_size_);
    slot->batch.cuts.resize(batch_size_);
    slot->batch.kept.images = kept_;
    slot->batch.kept.places.resize(batch_size_);
    slot->batch.kept.there.resize(batch_size_);
  }
  if (normalization.type() == DType::kUINT8) {
    slot->batch.mean = normalization.mean();
    slot->batch.inverse_std = normalization.inverse_std();
  }
  return slot;
}

Shape Loader::image_shape() const {
  return {reader_.channels(), reader_.image_size().height, reader_.image_size().width};
}

int64_t Loader::batches() const { return EvaluationBatches(size(), options_.world, batch_size_); }

int64_t Loader::device_places() const { return reader_.whole() ? kept_.desc.shape[0] : 0; }

void Loader::Start() {
  const int64_t stride = batch_size_ * options_.world;
  start_position_ = position_;
  if (options_.mode == LoaderOptions::kEvaluate) {
    CHECK_EQ(position_ % stride, 0) << "evaluation cannot start within a batch";
  }
  stopping_ = false;
  delivered_ = 0;
  scheduled_ = 0;
  if (reader_.whole()) places_ = std::make_unique<DevicePlaces>(kept_);
  ScheduleAhead();
  try {
    for (int i = 0; i < workers_; ++i) threads_.emplace_back([this] { Work(); });
  } catch (...) {  // no more threads: those that run use this object
    Stop();
    throw;
  }
}

void Loader::Stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  scheduled_changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Loader::Seek(int64_t position) {
  CHECK_GE(position, 0);
  Stop();
  position_ = position;
  Start();
}

// Gives every free slot to the next batch. The slot of the last batch handed out is free, because
// the caller now asks for another batch.
void Loader::ScheduleAhead() {
  const int64_t end = delivered_ + static_cast<int64_t>(slots_.size());
  while (scheduled_ < end && Schedule(scheduled_)) {
  }
}

// Returns false if batch `number` is beyond the pass of evaluation.
bool Loader::Schedule(int64_t number) {
  const int64_t first = start_position_ + number * batch_size_ * options_.world;
  BatchSlot& slot = *slots_[number % slots_.size()];
  if (options_.mode == LoaderOptions::kEvaluate) {
    const int64_t in_pass = first / (batch_size_ * options_.world);
    if (in_pass >= batches()) return false;
    slot.position = part_.begin + in_pass * batch_size_;
    slot.batch.epoch = 0;
  } else {
    slot.position = first + options_.rank * batch_size_;
    slot.batch.epoch = slot.position / size();
  }
  if (places_) places_->BeginBatch();
  for (int64_t i = 0; i < batch_size_; ++i) {
    const int64_t position = slot.position + i;
    if (options_.mode == LoaderOptions::kTrain) {
      const SampleUse use = ahead_.At(position);
      if (config_.exchange() < 1 && options_.world > 1 && use.epoch != pass_) {
        pass_ = use.epoch;
        // Includes the previous pass again, because some of its batches were still in preparation
        // then.
        for (const int64_t pass : {pass_ - 1, pass_}) {
          ahead_.ForLost(options_.rank, pass, [&](int64_t sample) {
            reader_.Drop(sample);
            if (places_) places_->Drop(sample);
          });
        }
      }
      if (places_) {
        slot.samples[i] = use.index;
        places_->Schedule(use.index, i, &slot.batch.kept);
      }
      if (!places_ || !slot.batch.kept.there[i]) reader_.WillRead(use.index);
    } else if (position < part_.end) {
      reader_.WillRead(position);
    }
  }
  slot.batch.position = slot.position;
  slot.batch.padding = 0;
  slot.error = nullptr;
  // The caller may have kept a copy of the batch that used this slot.
  if (slot.batch.images.owner.use_count() > 1) {
    const TensorDesc desc = slot.batch.images.desc;
    AllocateImages(desc.shape, desc.dtype, &slot.batch);
  }
  // Another thread may have just released a copy. Incrementing and decrementing the count
  // synchronizes with its reads.
  std::shared_ptr<void>(slot.batch.images.owner).reset();
  slot.done.store(0);
  slot.next.store(0);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    scheduled_ = number + 1;
  }
  scheduled_changed_.notify_all();
  return true;
}

void Loader::Work() {
  SampleScratch scratch;
  Sampler sampler = NewSampler();
  for (int64_t number = 0;; ++number) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      scheduled_changed_.wait(lock, [&] { return stopping_ || scheduled_ > number; });
    }
    BatchSlot& slot = *slots_[number % slots_.size()];
    while (!stopping_) {
      const int64_t image = slot.next.fetch_add(1);
      if (image >= batch_size_) break;
      Fill(&slot, image, &sampler, &scratch);
      if (slot.done.fetch_add(1) + 1 == batch_size_) {
        std::lock_guard<std::mutex> lock(mutex_);
        batch_done_.notify_one();
      }
    }
    if (stopping_) return;
  }
}

void Loader::Fill(BatchSlot* slot, int64_t image, Sampler* sampler, SampleScratch* scratch) {
  try {
    bool good = false;
    if (options_.mode == LoaderOptions::kTrain) {
      good = FillTraining(slot, image, sampler, scratch);
    } else if (slot->position + image < part_.end) {
      good = reader_.Read({0, slot->position + image},
                          slot->batch.images.as<uint8_t>() + image * reader_.image_bytes(),
                          &slot->batch.labels[image], scratch);
      if (good) reader_.ReadLabelValues(slot->position + image, image, &slot->batch, scratch);
    }
    slot->good[image] = good;
  } catch (...) {
    std::lock_guard<std::mutex> lock(slot->error_mutex);
    // Keeps the error of the first image, regardless of the order of workers.
    if (!slot->error || image < slot->error_image) {
      slot->error = std::current_exception();
      slot->error_image = image;
    }
  }
}

// Replaces a damaged sample by the next good one of the sequence and then returns false.
bool Loader::FillTraining(BatchSlot* slot, int64_t image, Sampler* sampler,
                          SampleScratch* scratch) {
  Batch& batch = slot->batch;
  const int64_t tries = std::min(size(), kMaxDamagedRun);
  for (int64_t i = 0; i < tries; ++i) {
    if (stopping_) return false;
    const SampleUse use = sampler->At(slot->position + image + i);
    if (i == 0 && places_ && batch.kept.there[image]) {
      batch.labels[image] = Label(use.index);
    } else if (!reader_.Read(use, batch.images.as<uint8_t>() + image * image_bytes(),
                             &batch.labels[image], scratch)) {
      continue;
    }
    reader_.ReadLabelValues(use.index, image, &batch, scratch);
    if (reader_.whole()) batch.cuts[image] = reader_.CutOf(use);
    return i == 0;
  }
  ThrowUserError(config_.source(), ": ", tries, " consecutive samples are damaged, the first is ",
                 Where(sampler->At(slot->position + image).index));
}

const Batch& Loader::Next() {
  if (options_.mode == LoaderOptions::kEvaluate) {
    CHECK_LT(position_ / (batch_size_ * options_.world), batches()) << "the pass is over";
  }
  ScheduleAhead();
  BatchSlot& slot = *slots_[delivered_ % slots_.size()];
  const auto start = std::chrono::steady_clock::now();
  {
    std::unique_lock<std::mutex> lock(mutex_);
    batch_done_.wait(lock, [&] { return slot.done.load() == batch_size_; });
  }
  waited_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (slot.error) std::rethrow_exception(slot.error);
  if (options_.mode == LoaderOptions::kEvaluate) {
    samples_ = slot.Compact();
  } else {
    Mix(&slot.batch);
  }
  if (places_) places_->Deliver(slot.samples, slot.good, &slot.batch.kept);
  ++delivered_;
  position_ += batch_size_ * options_.world;
  return slot.batch;
}

void Loader::Mix(Batch* batch) const {
  const Random random(options_.seed, StreamId(RandomUse::kMix, batch->epoch, batch->position));
  batch->mix = DrawMix(config_.mix(), reader_.image_size(), random);
  MixLabelValues(batch);
}

bool Loader::Ready() const {
  // Only this thread writes `scheduled_`.
  return delivered_ < scheduled_ && slots_[delivered_ % slots_.size()]->done.load() == batch_size_;
}

}  // namespace gf
