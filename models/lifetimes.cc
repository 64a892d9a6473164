#include <glog/logging.h>

#include <algorithm>
#include <set>
#include <string>

#include "models/compiled_net.h"
#include "models/memory_check.h"

namespace gf {
namespace {

// Note [Lifetimes]
// A net of n operations has 2n steps: operation i runs forward at step i and backward at step 2n -
// 1 - i. A blob lives from its producer to its last reader, which may be a backward step if a
// kernel needs the blob there. A gradient lives from the reader that produces it to the producer of
// the blob, which consumes it. In-place work joins two lifetimes in one buffer. A blob that is
// cheap to recompute has two short lifetimes instead of a long one across the turning point, where
// memory is scarcest.
class Planner {
 public:
  Planner(const NetOptions& options, Device* device, CompiledNet* net)
      : options_(options), device_(device), net_(*net), n_(static_cast<int>(net->ops.size())) {}

  void Run() {
    backward_first_.assign(net_.blobs.size(), -1);
    backward_last_.assign(net_.blobs.size(), -1);
    used_by_producer_.assign(net_.blobs.size(), false);
    BackwardReads();
    Blobs();
    Gradients();
    ParameterGradients();
    for (int k = 0; k < n_; ++k) {
      CompiledOp& op = net_.ops[k];
      const int back = BackwardTime(k, n_);
      op.saved = net_.memory.Add(op.setup.saved_bytes, k, op.backward ? back : k);
      op.forward_scratch = net_.memory.Add(op.setup.forward_scratch_bytes, k, k);
      if (op.backward) {
        op.backward_scratch = net_.memory.Add(op.setup.backward_scratch_bytes, back, back);
      }
    }
    net_.memory.Solve(options_.reuse_memory);
    if (options_.plan_only) return;
    CheckArenaFits(net_, options_, *device_);
    net_.arena = device_->Allocate(net_.memory.bytes());
    for (CompiledOp& op : net_.ops) SetArgs(&op);
  }

 private:
  // Assigns buffers to gradients, in backward order.
  void Gradients() {
    for (int k = n_ - 1; k >= 0; --k) {
      CompiledOp& op = net_.ops[k];
      if (!op.backward) continue;
      const int time = BackwardTime(k, n_);
      for (size_t i = 0; i < op.tops.size(); ++i) {
        const CompiledBlob& top = net_.blobs[op.tops[i]];
        for (int buffer : top.gradients) net_.memory.Extend(buffer, time, time);
        const size_t limit = i == 0 ? op.setup.max_top_diffs : 1;
        const size_t count = top.gradients.size();
        op.gradient_sums.push_back(count > limit ? NewSum(top.name, top.desc, count) : nullptr);
      }
      for (int i = 0; i < static_cast<int>(op.bottoms.size()); ++i) {
        op.bottom_gradients.push_back(-1);
        if (!op.setup.propagate[i]) continue;
        CompiledBlob& bottom = net_.blobs[op.bottoms[i]];
        int buffer = SharedGradient(op, i, time);
        if (buffer < 0) {
          buffer = net_.memory.Add(bottom.desc.bytes(), time, time);
        } else {
          net_.memory.Extend(buffer, time, time);
        }
        op.bottom_gradients.back() = buffer;
        bottom.gradients.push_back(buffer);
      }
    }
  }

  // A buffer that the gradient of bottom i may reuse, or -1.
  int SharedGradient(const CompiledOp& op, int i, int time) const {
    if (!options_.reuse_memory || op.tops.empty()) return -1;
    const int b = op.bottoms[i];
    const CompiledBlob& bottom = net_.blobs[b];
    const CompiledBlob& top = net_.blobs[op.tops[0]];
    if (op.setup.in_place_backward && i == op.setup.in_place_backward_bottom &&
        !top.gradients.empty() && top.desc.bytes() == bottom.desc.bytes()) {
      return top.gradients[0];
    }
    if (op.setup.gradient_over_bottom && i == 0 && !bottom.keep && bottom.recomputed_buffer < 0 &&
        backward_last_[b] == time && shared_.count(bottom.buffer) == 0 &&
        std::count(op.bottoms.begin(), op.bottoms.end(), b) == 1) {
      return bottom.buffer;
    }
    return -1;
  }

  // A kernel that adds up `count` tensors of this kind.
  std::unique_ptr<Kernel> NewSum(const std::string& name, const TensorDesc& desc,
                                 size_t count) const {
    LayerParameter p;
    p.set_name(name);
    p.set_type("_GradientSum");
    const auto layer =
        LayerRegistry::Get().Create("layer type", p.type(), p, options_.phase, std::string());
    const KernelContext context{device_, desc.dtype, 0, 0, options_.deterministic};
    auto kernel =
        KernelRegistry::Get().Create("kernel", device_->name() + "/" + p.type(), *layer, context);
    KernelSetup setup;
    setup.bottoms.assign(count, desc);
    setup.propagate.assign(count, false);
    setup.tops = {desc};
    kernel->Setup(&setup);
    return kernel;
  }

  // Gives a buffer to the gradients that do not go straight to the gradient pool: of frozen
  // parameters in operations that run backward and compute them all the same, and of shared
  // parameters but for the first one.
  void ParameterGradients() {
    std::set<std::string> written;
    for (int k = n_ - 1; k >= 0; --k) {
      CompiledOp& op = net_.ops[k];
      if (!op.backward || op.setup.skips_parameter_diffs) continue;
      const int time = BackwardTime(k, n_);
      for (size_t i = 0; i < op.parameters.size(); ++i) {
        CompiledParameter& parameter = op.parameters[i];
        if (!parameter.frozen && written.insert(parameter.name).second) continue;
        const TensorDesc& desc = op.setup.parameters[i];
        parameter.gradient = net_.memory.Add(desc.bytes(), time, time);
        if (!parameter.frozen) parameter.sum = NewSum(parameter.name, desc, 2);
      }
    }
  }

  void Read(int blob, int time) {
    if (backward_first_[blob] < 0) backward_first_[blob] = time;
    backward_first_[blob] = std::min(backward_first_[blob], time);
    backward_last_[blob] = std::max(backward_last_[blob], time);
  }

  // Finds the backward steps that read the data of blobs.
  void BackwardReads() {
    for (int k = 0; k < n_; ++k) {
      const CompiledOp& op = net_.ops[k];
      if (!op.backward) continue;
      for (size_t i = 0; i < op.bottoms.size(); ++i) {
        if (op.setup.needs_bottom[i]) Read(op.bottoms[i], BackwardTime(k, n_));
      }
      for (size_t i = 0; i < op.tops.size(); ++i) {
        if (!op.setup.needs_top[i]) continue;
        Read(op.tops[i], BackwardTime(k, n_));
        used_by_producer_[op.tops[i]] = true;
      }
    }
  }

  // Whether the operation's result should be discarded after forward and recomputed.
  bool ShouldRecompute(const CompiledOp& op) const {
    constexpr size_t kWorthIt = size_t{1} << 20;
    if (!options_.reuse_memory || !options_.recompute || !op.backward || op.tops.size() != 1) {
      return false;
    }
    const CompiledBlob& top = net_.blobs[op.tops[0]];
    if (top.keep || backward_first_[op.tops[0]] < 0 || used_by_producer_[op.tops[0]] ||
        top.desc.bytes() < kWorthIt || !op.kernel->CanRecompute()) {
      return false;
    }
    for (size_t i = 0; i < op.bottoms.size(); ++i) {
      if (!op.layer->Differentiable(static_cast<int>(i))) continue;  // sums, read in forward only
      if (!op.setup.needs_bottom[i] || net_.blobs[op.bottoms[i]].recomputed_at >= 0) return false;
    }
    return true;
  }

  void Blobs() {
    for (int k = 0; k < n_; ++k) {
      CompiledOp& op = net_.ops[k];
      for (size_t i = 0; i < op.tops.size(); ++i) {
        const int b = op.tops[i];
        CompiledBlob& blob = net_.blobs[b];
        int end = blob.readers.empty() ? k : std::max(k, blob.readers.back());
        if (i == 0 && ShouldRecompute(op)) {
          blob.recomputed_at = BackwardTime(backward_first_[b], n_);
          blob.recomputed_buffer =
              net_.memory.Add(blob.desc.bytes(), backward_first_[b], backward_last_[b]);
          net_.ops[blob.recomputed_at].recompute.push_back(k);
        } else {
          end = std::max(end, backward_last_[b]);
        }
        if (blob.keep || !options_.reuse_memory) end = 2 * n_;
        if (i == 0 && InPlace(op, k)) {
          blob.buffer = net_.blobs[op.bottoms[0]].buffer;
          shared_.insert(blob.buffer);
          net_.memory.Extend(blob.buffer, k, end);
        } else {
          blob.buffer = net_.memory.Add(blob.desc.bytes(), k, end);
        }
      }
    }
  }

  // Whether operation k may overwrite its bottom with its top: no later step reads the bottom.
  bool InPlace(const CompiledOp& op, int k) const {
    if (!options_.reuse_memory || !op.setup.in_place || op.bottoms.empty()) return false;
    const int b = op.bottoms[0];
    const CompiledBlob& bottom = net_.blobs[b];
    return !bottom.keep && backward_last_[b] < 0 && bottom.readers.back() == k &&
           std::count(op.bottoms.begin(), op.bottoms.end(), b) == 1 &&
           bottom.desc.bytes() == net_.blobs[op.tops[0]].desc.bytes();
  }

  // Address of a blob's data in the backward pass.
  char* BackwardData(int blob) const {
    const CompiledBlob& b = net_.blobs[blob];
    return net_.At(b.recomputed_buffer >= 0 ? b.recomputed_buffer : b.buffer);
  }

  void SetArgs(CompiledOp* op) {
    const ParameterStore& store = *net_.parameters;
    KernelArgs args;
    for (int entry : op->state_entries) {
      args.states.push_back(store.states().as<float>() +
                            store.state_layout().entries()[entry].offset);
    }
    args.saved = op->setup.saved_bytes ? net_.At(op->saved) : nullptr;
    op->forward_args = op->backward_args = op->recompute_args = args;

    op->forward_args.scratch = net_.At(op->forward_scratch);
    for (int b : op->bottoms) op->forward_args.bottoms.push_back(net_.At(net_.blobs[b].buffer));
    for (int b : op->tops) op->forward_args.tops.push_back(net_.At(net_.blobs[b].buffer));
    if (!op->backward) return;
    op->backward_args.scratch = net_.At(op->backward_scratch);
    for (int b : op->bottoms) op->backward_args.bottoms.push_back(BackwardData(b));
    for (int b : op->tops) op->backward_args.tops.push_back(BackwardData(b));
    op->recompute_args.bottoms = op->backward_args.bottoms;
    op->recompute_args.tops = op->backward_args.tops;
    for (int buffer : op->bottom_gradients)
      op->backward_args.bottom_diffs.push_back(net_.At(buffer));
    for (size_t i = 0; i < op->tops.size(); ++i) {
      std::vector<void*> diffs;
      for (int buffer : net_.blobs[op->tops[i]].gradients) diffs.push_back(net_.At(buffer));
      KernelArgs sum;
      if (op->gradient_sums[i] != nullptr) {
        sum.bottoms.assign(diffs.begin(), diffs.end());
        sum.tops = {diffs[0]};
        diffs.resize(1);
      }
      op->gradient_sum_args.push_back(std::move(sum));
      op->backward_args.top_diffs.push_back(std::move(diffs));
    }
  }

  const NetOptions& options_;
  Device* device_;
  CompiledNet& net_;
  int n_;
  // Per blob: first and last step of the backward pass that reads its data; -1 if none.
  std::vector<int> backward_first_, backward_last_;
  std::vector<bool> used_by_producer_;
  std::set<int> shared_;  // buffers that hold several blobs
};

}  // namespace

void PlanMemory(const NetOptions& options, Device* device, CompiledNet* net) {
  Planner(options, device, net).Run();
}

}  // namespace gf
