#pragma once

#include <memory>
#include <string>

#include "layers/cuda/cudnn/descriptor.h"

namespace gf {

// The GPU for which cuDNN makes plans: the GPU of this process, or a described GPU. Plans for a
// described GPU need neither a GPU nor a driver, and cannot be executed.
class CudnnTarget {
 public:
  // The GPU of this process (CudnnHandle).
  CudnnTarget() = default;
  // `json`: device properties in cuDNN's format (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION). Throws
  // CudaError if cuDNN rejects them.
  explicit CudnnTarget(const std::string& json);

  // Set the GPU on a descriptor that is not finalized yet.
  void SetOnGraph(CudnnDescriptor* graph) const;
  void SetOnHeuristic(CudnnDescriptor* heuristic) const;
  void SetOnPlan(CudnnDescriptor* plan) const;

 private:
  std::shared_ptr<const CudnnDescriptor> description_;  // null: the GPU of this process
};

}  // namespace gf
