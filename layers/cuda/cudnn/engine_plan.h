#pragma once

#include <memory>

#include "layers/cuda/cudnn/convolution_graph.h"
#include "layers/cuda/cudnn/convolution_trial.h"
#include "layers/cuda/cudnn/cudnn_convolution.h"
#include "layers/cuda/cudnn/graph.h"

namespace gf {

// A plan of a cuDNN engine for a pass, and the graph that it needs.
struct EnginePlan {
  std::shared_ptr<ConvolutionGraph> graph;
  std::shared_ptr<CudnnPlan> plan;
  int64_t runs = 1;  // of a plan for one group: the number of groups
  float milliseconds = ConvolutionTrial::kCannot;

  bool exists() const { return plan != nullptr; }
};

// Where the plan of one group finds the tensors of the next group: distances in bytes.
struct GroupSteps {
  int64_t x, w, y, bias;
  int64_t outputs;  // of all groups

  explicit GroupSteps(const ConvolutionRequest& request);
};

// Enqueues the pass. Returns false if cuDNN fails. A plan for one group has no sums.
bool Execute(const EnginePlan& engine, const GroupSteps& steps, const ConvolutionMemory& memory,
             void* workspace);

// The pass by this plan of the request.
std::shared_ptr<CudnnConvolution> NewEnginePass(EnginePlan plan, const ConvolutionRequest& request);

}  // namespace gf
