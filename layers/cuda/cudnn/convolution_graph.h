#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "core/dtype.h"
#include "layers/cuda/convolution_shape.h"
#include "layers/cuda/cudnn/graph.h"

namespace gf {

enum class ConvolutionPass { kForward, kBackwardData, kBackwardFilter };

// Operations of forward on the results before they are rounded and written.
struct ConvolutionEpilogue {
  bool bias = false, relu = false;  // in this order

  bool nothing() const { return !bias && !relu; }
};

// Numbers that identify the memory of a convolution for cuDNN: images, filters, results, and one
// bias per output channel.
enum ConvolutionTensor : int64_t { kImagesId = 1, kFiltersId, kResultsId, kBiasId };

// A pass of a convolution as a cuDNN graph.
struct ConvolutionGraph {
  std::deque<CudnnDescriptor> descriptors;         // a deque keeps addresses stable
  std::vector<const CudnnDescriptor*> operations;  // the operations among them, in order
};

// Limits for the passes of a layer: half a GiB of workspace, and no tensor cores if products must
// be exact FP32.
CudnnLimits ConvolutionLimits(DType type, bool allow_tf32);

// Returns null if cuDNN rejects the graph. Only forward passes have epilogues; sums, bias and ReLU
// are FP32.
std::unique_ptr<ConvolutionGraph> NewConvolutionGraph(ConvolutionPass pass,
                                                      const ConvolutionShape& shape, DType type,
                                                      const ConvolutionEpilogue& epilogue);

}  // namespace gf
