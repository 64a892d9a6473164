#pragma once

#include <memory>
#include <string>

#include "layers/cuda/cudnn/descriptor.h"

namespace gf {

// The GPU for which cuDNN makes plans: the process's own, or one that a text describes. Plans for a
// described GPU need neither a GPU nor a driver; they cannot be executed.
class CudnnTarget {
 public:
  // The process's GPU (CudnnHandle).
  CudnnTarget() = default;
  // `json`: cuDNN's device properties (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION). CudaError where
  // cuDNN does not take them.
  explicit CudnnTarget(const std::string& json);

  // Name the GPU to a descriptor that is not finalized yet.
  void SetOnGraph(CudnnDescriptor* graph) const;
  void SetOnHeuristic(CudnnDescriptor* heuristic) const;
  void SetOnPlan(CudnnDescriptor* plan) const;

 private:
  std::shared_ptr<const CudnnDescriptor> description_;  // null: the process's GPU
};

}  // namespace gf
