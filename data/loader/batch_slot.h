#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <vector>

#include "core/batch.h"
#include "core/config/job.pb.h"

namespace gf {

// A batch in preparation. Note [Slots]: batch number b uses slot b % slots_.size(). Workers claim
// images by incrementing `next`; a worker that gets a number below batch_size owns that image. A
// slow worker may claim a number after the slot was given to a later batch; that is correct,
// because the slot holds everything that a worker needs. The last action of giving a slot to a
// batch is the store to `next`.
struct BatchSlot {
  std::atomic<int64_t> next{0}, done{0};
  int64_t position = 0;  // of the first image
  Batch batch;
  // One per image: whether it is the scheduled image.
  std::vector<uint8_t> good;
  std::vector<int64_t> samples;  // the scheduled samples, if the device keeps images
  std::mutex error_mutex;
  int64_t error_image = 0;
  std::exception_ptr error;

  // Moves the good images to the front; the rest becomes padding. Returns the positions of the
  // good images.
  std::vector<int64_t> Compact();
};

// Gives a batch new memory for its images, of any contents.
void AllocateImages(const Shape& shape, Batch* batch);

// Sets mean and inverse_std of a batch as the config says. CheckData has accepted `config`.
void SetNormalization(const DataConfig& config, Batch* batch);

}  // namespace gf
