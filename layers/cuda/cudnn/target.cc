#include "layers/cuda/cudnn/target.h"

#include <utility>
#include <vector>

namespace gf {

CudnnTarget::CudnnTarget(const std::string& json) {
  CudnnDescriptor description(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  description.Set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                  std::vector<char>(json.begin(), json.end()));
  description.Finalize();
  description_ = std::make_shared<const CudnnDescriptor>(std::move(description));
}

void CudnnTarget::SetOnGraph(CudnnDescriptor* graph) const {
  if (description_ == nullptr) {
    graph->Set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, CudnnHandle());
  }
}

void CudnnTarget::SetOnHeuristic(CudnnDescriptor* heuristic) const {
  if (description_ != nullptr) heuristic->Set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *description_);
}

void CudnnTarget::SetOnPlan(CudnnDescriptor* plan) const {
  if (description_ == nullptr) {
    plan->Set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, CudnnHandle());
  } else {
    plan->Set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *description_);
  }
}

}  // namespace gf
