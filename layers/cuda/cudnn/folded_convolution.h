#pragma once

#include <memory>

#include "layers/cuda/cudnn/cudnn_convolution.h"

namespace gf {

// Whether a pass may be faster on folded images, see Note [Folded images]: a forward pass or a
// gradient of filters on tensor cores, on images of at most four channels, with a stride.
bool CanFold(const ConvolutionRequest& request);

// Width of the blocks: of a stride, or of the filters.
enum class FoldWidth { kStride, kFilters };

// The same pass on the folded images and filters.
ConvolutionRequest FoldedRequest(const ConvolutionRequest& request, FoldWidth width);

// Folds the images and filters into the workspace, and computes the pass there. `convolution`:
// of FoldedRequest.
std::shared_ptr<CudnnConvolution> NewFoldedPass(const ConvolutionRequest& request, FoldWidth width,
                                                std::shared_ptr<CudnnConvolution> convolution,
                                                cudaStream_t stream);

}  // namespace gf
