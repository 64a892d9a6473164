#pragma once

#include <cuda_runtime_api.h>

#include "core/dtype.h"
#include "layers/cuda/columns.h"

namespace gf {

// Batch norm over a tensor with the channels last. Arrays of one FP32 number per channel:
struct BatchNormChannels {
  const float* gamma = nullptr;  // null: 1
  const float* beta = nullptr;   // null: 0
  // Running statistics, updated in phase TRAIN.
  float* running_mean = nullptr;
  float* running_variance = nullptr;
  // Written by forward, read by backward. y = scale * x + offset.
  float* mean = nullptr;
  float* inverse_std = nullptr;
  float* scale = nullptr;
  float* offset = nullptr;
  // Written and read by backward. dx = a * dz + b * x + c.
  float* a = nullptr;
  float* b = nullptr;
  float* c = nullptr;
};

// Where Normalize takes scale and offset from.
enum class NormalizeWith {
  kChannels,  // BatchStatistics or an earlier call of Normalize wrote them
  kSums,      // sums over the batch; also writes the channels and updates the running statistics
  kRunning,   // the running statistics; also writes the channels
};

struct BatchNormForward {
  ColumnsView view;
  DType type = DType::kFP32;
  BatchNormChannels channels;
  float eps = 0, fraction = 0;  // fraction: weight of the old running statistics
  NormalizeWith with = NormalizeWith::kChannels;
  const float* sums = nullptr;  // with kSums: the ChannelSums of x
  bool relu = false;
  const void* x = nullptr;
  const void* add = nullptr;  // null: none
  // Scale and offset of `add`, per channel; null: 1 and 0.
  const float* add_scale = nullptr;
  const float* add_offset = nullptr;
  void* y = nullptr;
  unsigned char* mask = nullptr;  // BatchNormMaskBytes bytes, where y > 0; null: not needed
};

// Bytes that say of each element whether it is positive, a bit each, a byte for each pack.
size_t BatchNormMaskBytes(const ColumnsView& view, DType type);

// Sums of x and of its squares per channel. `sums`: [2][channels]; `memory`: for two sums.
void ChannelSums(const ColumnsView& view, DType type, const void* x, float* sums,
                 const ColumnSumsMemory& memory, cudaStream_t stream);

// Computes the statistics of this batch in one pass over x. `memory`: for two sums.
void BatchStatistics(const BatchNormForward& call, const ColumnSumsMemory& memory,
                     cudaStream_t stream);
// The same from the ChannelSums of x, without y.
void StatisticsFromSums(const BatchNormForward& call, cudaStream_t stream);
// y = scale * x + offset (+ add, or + add_scale * add + add_offset) (relu)
void Normalize(const BatchNormForward& call, cudaStream_t stream);

enum class ReluGradientFrom { kNone, kInput, kMask };

struct BatchNormBackward {
  ColumnsView view;
  DType type = DType::kFP32;
  BatchNormChannels channels;
  bool global_statistics = false;
  ReluGradientFrom relu = ReluGradientFrom::kNone;
  const void* x = nullptr;
  const unsigned char* mask = nullptr;  // forward's, with relu == kMask
  const void* dy = nullptr;             // gradient of y
  const void* dy2 = nullptr;            // a second gradient to add; may be null
  // Gradient before the ReLU, which is also the gradient of the residual; may be dy. Null: it is
  // recomputed instead of stored.
  void* dz = nullptr;
  void* dx = nullptr;      // null: not needed; may be dy or x
  void* dgamma = nullptr;  // in `type`; null: none
  void* dbeta = nullptr;
};

// Runs two passes: sums, then dx. `memory`: for two sums.
void BatchNormGradient(const BatchNormBackward& call, const ColumnSumsMemory& memory,
                       cudaStream_t stream);

// The other operand of the residual sum of a batch norm, normalized, too, and its channels.
struct BatchNormAddend {
  const void* x = nullptr;
  const float* mean = nullptr;
  const float* inverse_std = nullptr;
  const float* scale = nullptr;
  void* dx = nullptr;  // null: not needed
  // Written: [2][channels], the sums of dz and of dz * (x - mean); null: not needed.
  float* sums = nullptr;
  // Written and read, as in BatchNormChannels.
  float* a = nullptr;
  float* b = nullptr;
  float* c = nullptr;
};

// Both gradients in two passes. `call` has batch statistics, relu kNone or kMask, and dz if it has
// a ReLU or dy2 (otherwise dy is dz). dx may be x; the addend's dx may be dz or dy. `memory`: for
// three sums.
void BatchNormPairGradient(const BatchNormBackward& call, const BatchNormAddend& addend,
                           const ColumnSumsMemory& memory, cudaStream_t stream);
// Gradients of gamma and beta (in `type`; null: none) from the sums of BatchNormAddend.
void GradientsFromSums(DType type, int channels, const float* sums, const float* inverse_std,
                       void* dgamma, void* dbeta, cudaStream_t stream);

}  // namespace gf
