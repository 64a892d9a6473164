#include "layers/cuda/cudnn/engine_plan.h"

#include <string>
#include <utility>
#include <vector>

#include "core/cuda/error.h"

namespace gf {
namespace {

class ByEngine : public CudnnConvolution {
 public:
  ByEngine(EnginePlan plan, const GroupSteps& steps, bool sums)
      : plan_(std::move(plan)), steps_(steps), sums_(sums) {}

  size_t workspace_bytes() const override { return plan_.plan->workspace_bytes; }
  std::string Describe() const override {
    return StrCat(plan_.plan->tensor_cores ? "cuDNN on tensor cores" : "cuDNN",
                  plan_.runs > 1 ? " by group" : "", sums_ ? " with sums" : "");
  }

  void Run(const ConvolutionMemory& memory, void* workspace) const override {
    if (Execute(plan_, steps_, memory, workspace)) return;
    FailCall("cuDNN", "cudnnBackendExecute", __FILE__, __LINE__, "a plan fails that worked before",
             "");
  }

 private:
  const EnginePlan plan_;
  const GroupSteps steps_;
  const bool sums_;
};

}  // namespace

GroupSteps::GroupSteps(const ConvolutionRequest& request) {
  const ConvolutionShape& s = request.shape;
  const auto size = static_cast<int64_t>(SizeOf(request.type));
  x = size * s.channels / s.groups;
  w = size * s.w_count() / s.groups;
  y = bias = size * s.outputs / s.groups;
  outputs = s.outputs;
}

bool Execute(const EnginePlan& engine, const GroupSteps& steps, const ConvolutionMemory& memory,
             void* workspace) {
  for (int64_t i = 0; i < engine.runs; ++i) {
    std::vector<int64_t> ids;
    std::vector<void*> data;
    const auto add = [&](int64_t id, void* tensor, int64_t step) {
      ids.push_back(id);
      data.push_back(static_cast<char*>(tensor) + i * step);
    };
    add(kImagesId, memory.x, steps.x);
    add(kFiltersId, memory.w, steps.w);
    add(kResultsId, memory.y, steps.y);
    if (memory.bias != nullptr) add(kBiasId, memory.bias, steps.bias);
    if (memory.sums != nullptr) {
      add(kSumsId, memory.sums, 0);
      add(kSquaresId, memory.sums + steps.outputs, 0);
    }
    if (!ExecutePlan(*engine.plan, ids, data, workspace)) return false;
  }
  return true;
}

std::shared_ptr<CudnnConvolution> NewEnginePass(EnginePlan plan,
                                                const ConvolutionRequest& request) {
  return std::make_shared<ByEngine>(std::move(plan), GroupSteps(request), request.epilogue.sums);
}

}  // namespace gf
