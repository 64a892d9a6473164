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

// The agreement between a kernel and the net before memory is planned. The gradient of a blob or
// parameter always has the type and layout of the blob or parameter itself.
struct KernelSetup {
  // Given.
  bool backward = false;          // whether Backward will be called
  std::vector<bool> propagate;    // per bottom: whether its gradient is needed
  bool trains = true;             // whether the gradient of a parameter is needed
  bool parameters_fixed = false;  // whether the layouts of `parameters` are given

  // Given, with the layouts in which they are produced. The kernel may change a layout to request
  // another one; the net then inserts a conversion.
  std::vector<TensorDesc> bottoms;
  // Shapes and types are given; the kernel sets the layouts (default: plain).
  std::vector<TensorDesc> tops;
  // Shapes and types (the compute type) are given; unless parameters_fixed, the kernel sets the
  // layouts of the parameters in the pools (default: plain).
  std::vector<TensorDesc> parameters;

  // Filled in by the kernel.
  std::vector<bool> needs_bottom;  // per bottom: whether Backward reads its data
  std::vector<bool> needs_top;     // per top: whether Backward reads its data
  size_t saved_bytes = 0;          // memory kept from Forward to Backward
  size_t forward_scratch_bytes = 0;
  size_t backward_scratch_bytes = 0;
  // Memory of the kernel's own that it keeps between calls: parameters in another form.
  size_t kept_bytes = 0;
  // tops[0] may share the memory of bottoms[0].
  bool in_place = false;
  // The gradient of bottom in_place_backward_bottom may share the memory of the gradient of
  // tops[0].
  bool in_place_backward = false;
  int in_place_backward_bottom = 0;
  // The gradient of bottoms[0] may share the memory of bottoms[0].
  bool gradient_over_bottom = false;
  // Backward leaves the gradients of the parameters out, because `trains` is false: their addresses
  // are null.
  bool skips_parameter_diffs = false;
  // Number of gradients of tops[0] that Backward can add up itself. If more consumers of the top
  // produce gradients, the net adds them up first.
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
  const Batch* batch = nullptr;  // the source of Input layers
  // Number of the batch within the run, equal for equal (position, batch size). Together with the
  // layer it selects dropout's random stream.
  uint64_t sequence = 0;

  // The rest is for Backward only.

  // Per top: at most max_top_diffs gradients, which Backward adds up and may overwrite.
  std::vector<std::vector<void*>> top_diffs;
  std::vector<void*> bottom_diffs;  // null where not needed
  // Into the gradient pool, overwritten; null with skips_parameter_diffs.
  std::vector<void*> parameter_diffs;
  // Factor of the losses' gradients (mixed precision).
  float loss_scale = 1;
};

struct KernelContext {
  Device* device = nullptr;
  DType compute = DType::kFP32;
  uint64_t seed = 0;
  int layer_index = 0;
  bool deterministic = false;
  // The ranks whose batches share batch-norm statistics in training; null: this rank alone.
  GroupSum* batch_norm_group = nullptr;
  // FP32 products may round their factors to TF32 (a 10-bit mantissa) where that is faster.
  bool allow_tf32 = false;
};

// The arithmetic of one layer on one device. Built once, called once per step and direction.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // Chooses layouts and memory; called once, before Forward. All vectors in `setup` have their
  // final sizes; needs_bottom and needs_top are false.
  virtual void Setup(KernelSetup* setup) = 0;
  // Announces the batch of the next Forward, so that its copy to the device can start now. The
  // batch must not change until then.
  virtual void Stage(const Batch& batch) {}
  virtual void Forward(const KernelArgs& args) = 0;
  virtual void Backward(const KernelArgs& args) {}
  // Whether Backward accepts a null bottom_diffs[0] where Setup planned for a gradient, which that
  // call then leaves out.
  virtual bool CanOmitBottomDiff() const { return false; }
  // Whether every call with the same memory enqueues the same work: the work depends on nothing
  // else in `args` and involves no host code. Such calls can be recorded (Device::Record).
  virtual bool ForwardRepeats() const { return false; }
  virtual bool BackwardRepeats() const { return false; }
  // Whether Recompute can write tops[0] again during the backward pass from bottoms, parameters and
  // saved memory, at the cost of one pass over memory. The memory of tops[0] is then free in
  // between.
  virtual bool CanRecompute() const { return false; }
  virtual void Recompute(const KernelArgs& args) {}
  // The implementation that computes, for reports ("cuDNN on tensor cores"); empty if the layer's
  // type says enough.
  virtual std::string Describe() const { return ""; }
};

// The Describe text of a layer with weights: "A" if all passes agree, otherwise "forward A, weights
// B, data C". Empty parts are omitted.
std::string DescribePasses(const std::string& forward, const std::string& weights,
                           const std::string& data);

// Kernels are registered as "<device>/<layer type>".
using KernelRegistry = Registry<Kernel, const Layer&, const KernelContext&>;

// Adapts a kernel with the constructor (const LayerType&, const KernelContext&) to the registry:
//   GF_REGISTER(KernelRegistry, "cpu/ReLU", KernelOf<ReluLayer, ReluKernel>);
template <typename LayerType, typename KernelType>
class KernelOf : public KernelType {
 public:
  KernelOf(const Layer& layer, const KernelContext& context)
      : KernelType(static_cast<const LayerType&>(layer), context) {}
};

}  // namespace gf
