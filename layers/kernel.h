#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/batch.h"
#include "core/device.h"
#include "core/group_sum.h"
#include "core/registry.h"
#include "layers/layer.h"

namespace gf {

// What a kernel and the net agree on before memory is planned. The gradient of a blob or a
// parameter always has the type and layout of the blob or parameter itself.
struct KernelPlan {
  // Given.
  bool backward = false;          // Backward will be called
  std::vector<bool> propagate;    // per bottom: its gradient is wanted
  bool parameters_fixed = false;  // layouts of `parameters` are given, not chosen

  // Given with the layouts in which they are produced. The kernel may ask for another layout
  // by changing it; the net then puts a conversion in between.
  std::vector<TensorDesc> bottoms;
  // Shapes and types are given, the kernel sets the layouts (default: plain).
  std::vector<TensorDesc> tops;
  // Shapes and types (the compute type) are given; the kernel chooses the layouts in which they
  // lie in the pools (default: plain) unless parameters_fixed.
  std::vector<TensorDesc> parameters;

  // Filled in by the kernel.
  std::vector<bool> needs_bottom;  // per bottom: Backward reads its data
  std::vector<bool> needs_top;     // per top: Backward reads its data
  size_t saved_bytes = 0;          // memory that lives from Forward to Backward
  size_t forward_scratch_bytes = 0;
  size_t backward_scratch_bytes = 0;
  bool in_place = false;             // tops[0] may lie where bottoms[0] lies
  bool in_place_backward = false;    // the gradient of a bottom may lie where that of tops[0] lies:
  int in_place_backward_bottom = 0;  // that of this bottom
  bool gradient_over_bottom = false;  // the gradient of bottoms[0] where its data lie
  // How many gradients of tops[0] Backward can take and add up itself; if more consumers
  // than that produce one, the net adds them up first.
  int max_top_diffs = 1;
};

// Memory for one call. Pointers are to device memory in the planned layouts.
struct KernelArgs {
  std::vector<const void*> bottoms;
  std::vector<void*> tops;
  std::vector<const void*> parameters;  // compute type
  std::vector<const float*> master;     // the same parameters in FP32, same layout
  std::vector<float*> states;           // FP32, plain
  uint64_t parameters_version = 0;      // changes when the parameters do
  void* saved = nullptr;
  void* scratch = nullptr;
  const Batch* batch = nullptr;  // what Input layers copy from
  // Number of the batch in the whole run, the same for equal (position, batch size): names the
  // random stream of dropout together with the layer.
  uint64_t sequence = 0;

  // Backward only.
  // Per top: at most max_top_diffs gradients to be added up; Backward may overwrite them.
  std::vector<std::vector<void*>> top_diffs;
  std::vector<void*> bottom_diffs;     // null where not wanted
  std::vector<void*> parameter_diffs;  // into the gradient pool, overwritten
  // The gradients of losses are multiplied by this (mixed precision).
  float loss_scale = 1;
};

struct KernelContext {
  Device* device = nullptr;
  DType compute = DType::kFP32;
  uint64_t seed = 0;
  int layer_index = 0;
  bool deterministic = false;
  // Batch norms in training: the ranks whose batches count as one; null: this one alone.
  GroupSum* batch_norm_group = nullptr;
  // Products of FP32 may round their factors to TF32's 10 bits where that is faster.
  bool allow_tf32 = false;
};

// The arithmetic of one layer on one device. Built once, called once per step and direction.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // Chooses layouts and memory; called once, before Forward. Sizes of the vectors in `plan`
  // are set; needs_bottom and needs_top are false.
  virtual void Plan(KernelPlan* plan) = 0;
  // The next Forward will get this batch, which stays as it is until then: what travels to the
  // device may start now.
  virtual void Stage(const Batch& batch) {}
  virtual void Forward(const KernelArgs& args) = 0;
  virtual void Backward(const KernelArgs& args) {}
  // Whether each call enqueues the same work as the last if the memory is the same: it depends on
  // nothing else in `args`, and the host has no part in it. Such calls can be recorded
  // (Device::Record).
  virtual bool ForwardRepeats() const { return false; }
  virtual bool BackwardRepeats() const { return false; }
  // Whether Recompute can write tops[0] once more during the backward pass from bottoms,
  // parameters and saved, so that its memory is free in between. Costs one pass over memory.
  virtual bool CanRecompute() const { return false; }
  virtual void Recompute(const KernelArgs& args) {}
  // By what it computes, for reports; empty: there is no more to say than its layer's type.
  virtual std::string Describe() const { return ""; }
};

// What Describe says of a layer with weights: "A", or "forward A, weights B, data C". Empty parts
// are left out.
std::string DescribePasses(const std::string& forward, const std::string& weights,
                           const std::string& data);

// Names are "<device>/<layer type>".
using KernelRegistry = Registry<Kernel, const Layer&, const KernelContext&>;

// A kernel with a constructor (const LayerType&, const KernelContext&), for the registry:
//   GF_REGISTER(KernelRegistry, "cpu/ReLU", KernelOf<ReluLayer, ReluKernel>);
template <typename LayerType, typename KernelType>
class KernelOf : public KernelType {
 public:
  KernelOf(const Layer& layer, const KernelContext& context)
      : KernelType(static_cast<const LayerType&>(layer), context) {}
};

}  // namespace gf
