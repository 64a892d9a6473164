#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "core/dtype.h"
#include "layers/cuda/convolution_shape.h"
#include "layers/cuda/cudnn/graph.h"

namespace gf {

enum class ConvolutionPass { kForward, kBackwardData, kBackwardFilter };

// Operations of forward on the results: bias and ReLU, in this order, before they are rounded and
// written; or the sums of the results and of their squares per output channel.
struct ConvolutionEpilogue {
  bool bias = false, relu = false;
  bool sums = false;  // without the others

  bool nothing() const { return !bias && !relu && !sums; }
};

// Numbers that identify the memory of a convolution for cuDNN: images, filters, results, one bias
// per output channel, and FP32 sums per output channel.
enum ConvolutionTensor : int64_t {
  kImagesId = 1,
  kFiltersId,
  kResultsId,
  kBiasId,
  kSumsId,
  kSquaresId,
  kFirstUnusedId
};

// That memory: images, filters and results, or their gradients in backward passes, of one type.
struct ConvolutionMemory {
  void* x = nullptr;
  void* w = nullptr;
  void* y = nullptr;
  void* bias = nullptr;   // [outputs] in this type, if the epilogue has a bias
  float* sums = nullptr;  // [2][outputs], if the epilogue has sums
};

// A pass of a convolution as a cuDNN graph.
struct ConvolutionGraph {
  std::deque<CudnnDescriptor> descriptors;         // a deque keeps addresses stable
  std::vector<const CudnnDescriptor*> operations;  // the operations among them, in order
};

// Limits for the passes of a layer: half a GiB of workspace, and no tensor cores if products must
// be exact FP32.
CudnnLimits ConvolutionLimits(DType type, bool allow_tf32);

// How many groups of a convolution a graph computes. With kOne the tensors of the graph are slices
// of the whole tensors: the channels of one group.
enum class GraphGroups { kAll, kOne };

// Returns null if cuDNN rejects the graph. Only forward passes have epilogues; sums, bias and ReLU
// are FP32.
std::unique_ptr<ConvolutionGraph> NewConvolutionGraph(ConvolutionPass pass,
                                                      const ConvolutionShape& shape, DType type,
                                                      const ConvolutionEpilogue& epilogue,
                                                      GraphGroups groups = GraphGroups::kAll);

}  // namespace gf
