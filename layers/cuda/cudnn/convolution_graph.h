#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "core/dtype.h"
#include "layers/cuda/convolution_shape.h"
#include "layers/cuda/cudnn/graph.h"

namespace gf {

enum class ConvolutionPass { kForward, kBackwardData, kBackwardFilter };

// What forward does to the results before they are rounded and written.
struct ConvolutionEpilogue {
  bool bias = false, relu = false;  // in this order

  bool nothing() const { return !bias && !relu; }
};

// By what numbers cuDNN knows the memory of a convolution: images, filters, results, and one bias
// per output channel.
enum ConvolutionTensor : int64_t { kImagesId = 1, kFiltersId, kResultsId, kBiasId };

// A pass of a convolution as cuDNN sees it.
struct ConvolutionGraph {
  std::deque<CudnnDescriptor> descriptors;         // addresses stay
  std::vector<const CudnnDescriptor*> operations;  // among them, in their order
};

// What a layer's passes may take of cuDNN: half a GiB of workspace, and tensor cores unless
// products are to be those of FP32.
CudnnLimits ConvolutionLimits(DType type, bool allow_tf32);

// Null where cuDNN refuses it. Epilogues are those of forward passes; sums, bias and ReLU are in
// FP32.
std::unique_ptr<ConvolutionGraph> NewConvolutionGraph(ConvolutionPass pass,
                                                      const ConvolutionShape& shape, DType type,
                                                      const ConvolutionEpilogue& epilogue);

}  // namespace gf
