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
#include "layers/cuda/cudnn/engine_plan.h"
#include "layers/cuda/cudnn/folded_convolution.h"
#include "layers/cuda/cudnn/graph.h"
#include "layers/cuda/cudnn/own_convolution.h"
#include "layers/cuda/cudnn/plan_cache.h"
#include "layers/depthwise.h"

namespace gf {
namespace {

cudaStream_t StreamOf(CudaDevice* device) { return device->context().compute_stream()->get(); }

std::string KeyOf(const ConvolutionRequest& r) {
  const ConvolutionShape& s = r.shape;
  std::string key = StrCat(static_cast<int>(r.pass), " ", r.allow_tf32 ? "TF32" : Name(r.type), " ",
                           r.epilogue.bias, r.epilogue.relu, r.epilogue.sums ? "s" : "", " ", s.n,
                           " ", s.channels, " ", s.outputs, " ", s.groups);
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
        steps_(request),
        device_(device),
        trial_(request.shape, request.type, device),
        check_(request, trial_, device) {}

  std::shared_ptr<CudnnConvolution> Choose() {
    if (auto depthwise = NewDepthwisePass(request_, StreamOf(device_))) {
      const bool own = request_.deterministic || WayOfDepthwise() == DepthwiseWay::kOwn;
      return own ? depthwise : Faster(ChooseByCudnn(), std::move(depthwise));
    }
    if (!CanFold(request_)) return ChooseByCudnn();
    auto folded = FoldedPass(FoldWidth::kStride);
    if (request_.deterministic) return folded;
    return Faster(Faster(ChooseByCudnn(), std::move(folded)), FoldedPass(FoldWidth::kFilters));
  }

 private:
  std::shared_ptr<CudnnConvolution> FoldedPass(FoldWidth width) {
    return NewFoldedPass(request_, width, FindConvolution(FoldedRequest(request_, width), device_),
                         StreamOf(device_));
  }

  std::shared_ptr<CudnnConvolution> Faster(std::shared_ptr<CudnnConvolution> a,
                                           std::shared_ptr<CudnnConvolution> b) {
    return TimeOf(*b) < TimeOf(*a) ? b : a;
  }

  // The fastest engine; without one, by definition.
  std::shared_ptr<CudnnConvolution> ChooseByCudnn() {
    const EnginePlan plain = FindPlan({});
    if (!request_.epilogue.nothing()) {
      EnginePlan fused = FindPlan(request_.epilogue);
      if (fused.exists() && Better(fused, plain)) {
        return NewEnginePass(std::move(fused), request_);
      }
    }
    std::shared_ptr<CudnnConvolution> convolution;
    if (plain.exists()) {
      ConvolutionRequest without = request_;
      without.epilogue = {};
      convolution = NewEnginePass(plain, without);
    } else {
      convolution = NewDirectPass(request_, StreamOf(device_));
    }
    if (request_.epilogue.nothing()) return convolution;
    return WithEpilogue(convolution, EpilogueKernel(request_, device_));
  }

  // Whether a plan with the epilogue is better than a plan without it followed by a kernel. Without
  // timing: unless it loses tensor cores.
  bool Better(const EnginePlan& fused, const EnginePlan& plain) {
    if (!request_.deterministic) return fused.milliseconds < SplitTime(plain);
    return fused.plan->tensor_cores || !plain.exists() || !plain.plan->tensor_cores;
  }

  // Time of the plan and the epilogue after it.
  float SplitTime(const EnginePlan& plain) {
    const EpilogueKernel epilogue(request_, device_);
    return plain.milliseconds + TimeWith(epilogue.workspace_bytes(), [&](void* workspace) {
             epilogue.Run(trial_.MemoryFor(request_.epilogue), workspace);
             return true;
           });
  }

  // The time of run(workspace) in milliseconds. A net's arena aligns workspaces the same way. The
  // last run, which is checked, finds NaN in the workspace: an engine that reads it gives NaN.
  template <typename Run>
  float TimeWith(size_t workspace_bytes, const Run& run) {
    const std::shared_ptr<void> memory =
        device_->Allocate(workspace_bytes + kCudnnWorkspaceAlignment);
    void* const workspace = static_cast<char*>(memory.get()) + kCudnnWorkspaceAlignment;
    const float time = trial_.Milliseconds([&] { return run(workspace); });
    if (time == ConvolutionTrial::kCannot) return time;
    constexpr int kNan = 0xff;  // in all bytes
    GF_CUDA(cudaMemsetAsync(memory.get(), kNan, workspace_bytes + kCudnnWorkspaceAlignment,
                            StreamOf(device_)));
    run(workspace);
    return time;
  }

  float TimeOf(const EnginePlan& engine, const ConvolutionEpilogue& epilogue) {
    return TimeWith(engine.plan->workspace_bytes, [&](void* workspace) {
      return Execute(engine, steps_, trial_.MemoryFor(epilogue), workspace);
    });
  }

  float TimeOf(const CudnnConvolution& convolution) {
    return TimeWith(convolution.workspace_bytes(), [&](void* workspace) {
      convolution.Run(trial_.MemoryFor(request_.epilogue), workspace);
      return true;
    });
  }

  // The fastest plan, for all groups at once or for one group after the other.
  EnginePlan FindPlan(const ConvolutionEpilogue& epilogue) {
    EnginePlan all = FindPlan(epilogue, GraphGroups::kAll);
    if (!SplitsIntoGroups() || epilogue.sums) return all;
    EnginePlan one = FindPlan(epilogue, GraphGroups::kOne);
    if (!one.exists()) return all;
    if (!all.exists()) return one;
    if (!request_.deterministic) return one.milliseconds < all.milliseconds ? one : all;
    return one.plan->tensor_cores && !all.plan->tensor_cores ? one : all;
  }

  // Whether groups are few and wide. cuDNN's fastest engines do not compute groups.
  bool SplitsIntoGroups() const {
    const ConvolutionShape& s = request_.shape;
    constexpr int64_t kMostGroups = 4, kPack = 8;
    return s.groups > 1 && s.groups <= kMostGroups && s.channels / s.groups % kPack == 0 &&
           s.outputs / s.groups % kPack == 0;
  }

  // The fastest plan. If deterministic, the first plan that works, preferably on tensor cores.
  EnginePlan FindPlan(const ConvolutionEpilogue& epilogue, GraphGroups groups) {
    EnginePlan best;
    best.graph =
        NewConvolutionGraph(request_.pass, request_.shape, request_.type, epilogue, groups);
    if (best.graph == nullptr) return best;
    if (groups == GraphGroups::kOne) best.runs = request_.shape.groups;
    const CudnnLimits limits = ConvolutionLimits(request_.type, request_.allow_tf32);
    ConvolutionRequest kept = request_;
    kept.epilogue = epilogue;
    const std::string key =
        StrCat(device_->context().properties().name, ", cuDNN ", cudnnGetVersion(), ": ",
               KeyOf(kept), groups == GraphGroups::kOne ? " by group" : "");
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
    if (choice >= 0) {
      Cache()->Put(key, choice);
      VLOG(1) << "cuDNN's engine " << best.plan->engine << ": " << WordsFor(kept);
    }
    return best;
  }

  // Whether the plan works and is the best so far.
  bool Try(const std::shared_ptr<CudnnPlan>& plan, const ConvolutionEpilogue& epilogue,
           EnginePlan* best) {
    check_.ClearResult();
    EnginePlan tried = *best;
    tried.plan = plan;
    tried.milliseconds = TimeOf(tried, epilogue);
    if (tried.milliseconds >= best->milliseconds || !IsRight(*plan, epilogue)) return false;
    *best = std::move(tried);
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
  const GroupSteps steps_;
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
