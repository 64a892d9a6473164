#include "layers/cuda/cudnn/cudnn_convolution.h"

#include <cudnn.h>
#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/cuda/error.h"
#include "core/error.h"
#include "layers/cuda/cudnn/convolution_check.h"
#include "layers/cuda/cudnn/convolution_trial.h"
#include "layers/cuda/cudnn/graph.h"
#include "layers/cuda/cudnn/own_convolution.h"
#include "layers/cuda/cudnn/plan_cache.h"
#include "layers/depthwise.h"

namespace gf {
namespace {

cudaStream_t StreamOf(CudaDevice* device) { return device->context().compute_stream()->get(); }

// A plan and the graph that it needs.
struct EnginePlan {
  std::shared_ptr<ConvolutionGraph> graph;
  std::shared_ptr<CudnnPlan> plan;
  float milliseconds = ConvolutionTrial::kCannot;

  bool exists() const { return plan != nullptr; }
};

bool Execute(const CudnnPlan& plan, void* x, void* w, void* y, void* bias, void* workspace) {
  if (bias == nullptr) {
    return ExecutePlan(plan, {kImagesId, kFiltersId, kResultsId}, {x, w, y}, workspace);
  }
  return ExecutePlan(plan, {kImagesId, kFiltersId, kResultsId, kBiasId}, {x, w, y, bias},
                     workspace);
}

class ByEngine : public CudnnConvolution {
 public:
  explicit ByEngine(EnginePlan plan) : plan_(std::move(plan)) {}

  size_t workspace_bytes() const override { return plan_.plan->workspace_bytes; }
  std::string Describe() const override {
    return plan_.plan->tensor_cores ? "cuDNN on tensor cores" : "cuDNN";
  }

  void Run(void* x, void* w, void* y, void* bias, void* workspace) const override {
    if (Execute(*plan_.plan, x, w, y, bias, workspace)) return;
    FailCall("cuDNN", "cudnnBackendExecute", __FILE__, __LINE__, "a plan fails that worked before",
             "");
  }

 private:
  const EnginePlan plan_;
};

std::string KeyOf(const ConvolutionRequest& r) {
  const ConvolutionShape& s = r.shape;
  std::string key = StrCat(static_cast<int>(r.pass), " ", r.allow_tf32 ? "TF32" : Name(r.type), " ",
                           r.epilogue.bias, r.epilogue.relu, " ", s.n, " ", s.channels, " ",
                           s.outputs, " ", s.groups);
  for (int i = 0; i < 2; ++i) {
    key += StrCat(" ", s.in[i], " ", s.out[i], " ", s.kernel[i], " ", s.stride[i], " ", s.pad[i],
                  " ", s.dilation[i]);
  }
  return key;
}

// "gradient of the filters, BF16, 2 x 13 x 13 x 384, 384 filters of 3 x 3, 2 groups"
std::string WordsFor(const ConvolutionRequest& r) {
  const ConvolutionShape& s = r.shape;
  const char* const pass = r.pass == ConvolutionPass::kForward        ? "forward"
                           : r.pass == ConvolutionPass::kBackwardData ? "gradient of the images"
                                                                      : "gradient of the filters";
  return StrCat(pass, ", ", Name(r.type), ", ", s.n, " x ", s.in[0], " x ", s.in[1], " x ",
                s.channels, ", ", s.outputs, " filters of ", s.kernel[0], " x ", s.kernel[1], ", ",
                s.groups, s.groups == 1 ? " group" : " groups");
}

PlanCache* Cache() {
  static auto* const cache = new PlanCache(PlanCache::DefaultPath());
  return cache;
}

// Chooses the implementation for one request.
class Chooser {
 public:
  Chooser(const ConvolutionRequest& request, CudaDevice* device)
      : request_(request),
        device_(device),
        trial_(request.shape, request.type, device),
        check_(request, trial_, device) {}

  std::shared_ptr<CudnnConvolution> Choose() {
    const auto depthwise = NewDepthwisePass(request_, StreamOf(device_));
    if (depthwise == nullptr) return ChooseByCudnn();
    // Without timing, our own kernels.
    if (request_.deterministic || WayOfDepthwise() == DepthwiseWay::kOwn) return depthwise;
    const auto by_cudnn = ChooseByCudnn();
    return TimeOf(*depthwise) < TimeOf(*by_cudnn) ? depthwise : by_cudnn;
  }

 private:
  // The fastest engine; without one, by definition.
  std::shared_ptr<CudnnConvolution> ChooseByCudnn() {
    const EnginePlan plain = FindPlan({});
    const bool two = !request_.epilogue.nothing();
    if (two) {
      EnginePlan fused = FindPlan(request_.epilogue);
      if (fused.exists() && Better(fused, plain)) {
        return std::make_shared<ByEngine>(std::move(fused));
      }
    }
    std::shared_ptr<CudnnConvolution> convolution;
    if (plain.exists()) {
      convolution = std::make_shared<ByEngine>(plain);
    } else {
      convolution = NewDirectPass(request_, StreamOf(device_));
    }
    return two ? WithEpilogue(convolution, request_, StreamOf(device_)) : convolution;
  }

  // Whether a plan with the epilogue is better than a plan without it followed by a kernel. Without
  // timing: unless it loses tensor cores.
  bool Better(const EnginePlan& fused, const EnginePlan& plain) {
    if (!request_.deterministic) return fused.milliseconds < SplitTime(plain);
    return fused.plan->tensor_cores || !plain.exists() || !plain.plan->tensor_cores;
  }

  // Time of the plan and the epilogue after it.
  float SplitTime(const EnginePlan& plain) {
    return plain.milliseconds + trial_.Milliseconds([this] {
      ApplyEpilogue(request_, trial_.y(), trial_.bias(), StreamOf(device_));
      return true;
    });
  }

  // Milliseconds of run(workspace) with so many bytes, aligned exactly as in the arena of a net.
  template <typename Run>
  float TimeWith(size_t workspace_bytes, const Run& run) {
    const std::shared_ptr<void> memory =
        device_->Allocate(workspace_bytes + kCudnnWorkspaceAlignment);
    void* const workspace = static_cast<char*>(memory.get()) + kCudnnWorkspaceAlignment;
    return trial_.Milliseconds([&] { return run(workspace); });
  }

  float TimeOf(const CudnnPlan& plan, bool bias) {
    return TimeWith(plan.workspace_bytes, [&](void* workspace) {
      return Execute(plan, trial_.x(), trial_.w(), trial_.y(), bias ? trial_.bias() : nullptr,
                     workspace);
    });
  }

  float TimeOf(const CudnnConvolution& convolution) {
    return TimeWith(convolution.workspace_bytes(), [&](void* workspace) {
      convolution.Run(trial_.x(), trial_.w(), trial_.y(),
                      request_.epilogue.bias ? trial_.bias() : nullptr, workspace);
      return true;
    });
  }

  // The fastest plan. If deterministic, the first plan that works, preferably on tensor cores.
  EnginePlan FindPlan(const ConvolutionEpilogue& epilogue) {
    EnginePlan best;
    best.graph = NewConvolutionGraph(request_.pass, request_.shape, request_.type, epilogue);
    if (best.graph == nullptr) return best;
    const CudnnLimits limits = ConvolutionLimits(request_.type, request_.allow_tf32);
    ConvolutionRequest kept = request_;
    kept.epilogue = epilogue;
    const std::string key = StrCat(device_->context().properties().name, ", cuDNN ",
                                   cudnnGetVersion(), ": ", KeyOf(kept));
    const std::optional<int> known = request_.deterministic ? std::nullopt : Cache()->Find(key);
    if (known) {
      // Lists plans up to the cached one. A plan beyond most_plans is the only one on tensor cores.
      CudnnLimits up_to_it = limits;
      up_to_it.most_plans = std::min(*known + 1, limits.most_plans);
      const auto plans = FindPlans(best.graph->operations, up_to_it);
      if (*known < static_cast<int>(plans.size())) Try(plans[*known], epilogue, &best);
      if (best.exists()) return best;
    }
    auto plans = FindPlans(best.graph->operations, limits);
    if (request_.deterministic) {
      std::stable_partition(plans.begin(), plans.end(),
                            [](const auto& plan) { return plan->tensor_cores; });
    }
    int choice = -1, index = 0;
    for (const auto& plan : plans) {
      if (Try(plan, epilogue, &best)) choice = index;
      if (request_.deterministic && best.exists()) return best;
      ++index;
    }
    if (choice >= 0) Cache()->Put(key, choice);
    return best;
  }

  // Whether the plan works and is the best so far.
  bool Try(const std::shared_ptr<CudnnPlan>& plan, const ConvolutionEpilogue& epilogue,
           EnginePlan* best) {
    check_.ClearResult();
    const float time = TimeOf(*plan, epilogue.bias);
    if (time >= best->milliseconds || !IsRight(*plan, epilogue)) return false;
    best->plan = plan;
    best->milliseconds = time;
    return true;
  }

  // Whether the results of the plan's last call are right. One engine that is wrong for one shape
  // would spoil a training run.
  bool IsRight(const CudnnPlan& plan, const ConvolutionEpilogue& epilogue) {
    const double error = check_.Error(epilogue);
    if (error <= check_.largest_error()) return true;
    if (!wrong_engines_.insert(plan.engine).second) return false;
    LOG(WARNING) << "A configuration of cuDNN's engine " << plan.engine
                 << " computes this convolution incorrectly and is not used (" << WordsFor(request_)
                 << "): "
                 << (std::isnan(error)
                         ? "some results are not written or not numbers."
                         : StrCat("its results are off by ", 100 * error, "%, at most ",
                                  100 * check_.largest_error(), "% is allowed."));
    return false;
  }

  const ConvolutionRequest request_;
  CudaDevice* const device_;
  ConvolutionTrial trial_;
  ConvolutionCheck check_;           // of the trial's tensors
  std::set<int64_t> wrong_engines_;  // already named in a warning
};

}  // namespace

std::shared_ptr<CudnnConvolution> FindConvolution(const ConvolutionRequest& request,
                                                  CudaDevice* device) {
  static auto* const chosen = new std::map<std::string, std::shared_ptr<CudnnConvolution>>;
  const std::string key =
      StrCat(request.deterministic, " ", static_cast<int>(WayOfDepthwise()), " ", KeyOf(request));
  std::shared_ptr<CudnnConvolution>& entry = (*chosen)[key];
  if (entry == nullptr) entry = Chooser(request, device).Choose();
  return entry;
}

}  // namespace gf
