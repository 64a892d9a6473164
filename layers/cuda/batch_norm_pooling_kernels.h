#pragma once

#include <cuda_runtime_api.h>

#include "layers/cuda/batch_norm_kernels.h"
#include "layers/cuda/pooling_kernels.h"

namespace gf {

// A batch norm and the maximum pooling of its result, which is not stored. The windows are 2 x 2 or
// 3 x 3 at distances of 2 and all contain a pixel; there are fewer than 2^31 pixels, and a multiple
// of 8 channels.

// The rows of a matrix with a block of inputs (stride x stride) in each, for the sums of backward.
ColumnsView BlocksOf(const PoolingImages& images);

// y = max over a window of scale * x + offset (relu). Numbers are rounded before the maximum is
// taken: y and the taps equal the results of a batch norm and a max pooling one after the other.
// `call` has no add and no mask. `taps` as in MaxPool, but 255 for outputs that are not positive,
// with relu; may be null.
void NormalizeAndPool(const BatchNormForward& call, const PoolingImages& images, uint8_t* taps,
                      cudaStream_t stream);

// Sums, then dx. `call` has dy, the gradient of the pooling's top, and relu kNone, because `taps`
// says where no gradient flows, and neither dy2 nor dz; dx may be x. `memory`: for two sums over
// BlocksOf(images).
void PooledBatchNormGradient(const BatchNormBackward& call, const PoolingImages& images,
                             const uint8_t* taps, const ColumnSumsMemory& memory,
                             cudaStream_t stream);

}  // namespace gf
