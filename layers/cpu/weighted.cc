#include "layers/cpu/weighted.h"

#include <algorithm>
#include <unordered_map>

#include "core/parallel.h"
#include "layers/cpu/relu_mask_kernels.h"

namespace gf {
namespace {

size_t Align(size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

void WeightedKernel::Plan(KernelPlan* plan) {
  backward_ = plan->backward;
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::primitive_attr forward_attr = attr;
  if (relu_) {
    dnnl::post_ops ops;
    ops.append_eltwise(1.f, dnnl::algorithm::eltwise_relu, 0.f, 0.f);
    forward_attr.set_post_ops(ops);
  }
  try {
    Build(*plan, forward_attr);
  } catch (const dnnl::error& e) {
    if (context_.compute == DType::kBF16) {
      layer_.Fail("oneDNN cannot compute this in BF16 on this processor (", e.what(),
                  "); BF16 needs AVX-512, set compute_type: FP32");
    }
    layer_.Fail("oneDNN cannot compute this: ", e.what());
  }
  plan->bottoms[0].layout = FromDnnl(forward_.source);
  plan->tops[0].layout = FromDnnl(forward_.destination);
  if (!plan->parameters_fixed) {
    plan->parameters[0].layout = FromDnnl(backward_ ? backward_weights_.weights : forward_.weights);
  }
  pool_weights_ = ToDnnl(plan->parameters[0]);
  if (plan->parameters.size() > 1) bias_ = ToDnnl(plan->parameters[1]);
  if (pool_weights_.data.ndims != forward_.weights.data.ndims) {
    // Plain weights of a grouped convolution: the same order with one more axis.
    pool_weights_ = PlainDesc(Shape(forward_.weights.dims()), plan->parameters[0].dtype);
  }

  size_t kept = 0;
  for (Op* op : {&forward_, &backward_data_}) {
    if (!op->primitive || op->weights == pool_weights_) continue;
    op->reordered = true;
    op->reorder = dnnl::reorder(dnnl::reorder::primitive_desc(DnnlEngine(), pool_weights_,
                                                              DnnlEngine(), op->weights));
  }
  forward_scratchpad_ = Align(forward_.scratchpad.get_size());
  plan->forward_scratch_bytes = forward_scratchpad_;
  if (forward_.reordered) {
    kept = forward_.weights.get_size();
    if (backward_) plan->forward_scratch_bytes += kept;
  }
  if (!backward_) {
    if (forward_.reordered) kept_weights_ = context_.device->Allocate(kept);
    return;
  }
  backward_scratchpad_ = Align(backward_weights_.scratchpad.get_size());
  if (backward_data_.primitive) {
    backward_scratchpad_ =
        std::max(backward_scratchpad_, Align(backward_data_.scratchpad.get_size()));
  }
  plan->backward_scratch_bytes = backward_scratchpad_;
  if (backward_data_.reordered) plan->backward_scratch_bytes += backward_data_.weights.get_size();
  plan->needs_bottom[0] = true;
  plan->needs_top[0] = relu_backward_;
  top_count_ = plan->tops[0].storage_count();
}

const void* WeightedKernel::Weights(Op* op, const KernelArgs& args, void* scratch) {
  if (!op->reordered) return args.parameters[0];
  void* target = backward_ ? scratch : kept_weights_.get();
  if (!backward_) {
    if (kept_version_ == args.parameters_version) return target;
    kept_version_ = args.parameters_version;
  }
  dnnl::memory from = DnnlMemory(pool_weights_, args.parameters[0]);
  dnnl::memory to = DnnlMemory(op->weights, target);
  op->reorder.execute(DnnlStream(), from, to);
  return target;
}

void WeightedKernel::Forward(const KernelArgs& args) {
  char* scratch = static_cast<char*>(args.scratch);
  const void* weights = Weights(&forward_, args, scratch + forward_scratchpad_);
  std::unordered_map<int, dnnl::memory> memory = {
      {DNNL_ARG_SRC, DnnlMemory(forward_.source, args.bottoms[0])},
      {DNNL_ARG_WEIGHTS, DnnlMemory(forward_.weights, weights)},
      {DNNL_ARG_DST, DnnlMemory(forward_.destination, args.tops[0])},
      {DNNL_ARG_SCRATCHPAD, DnnlMemory(forward_.scratchpad, scratch)}};
  if (args.parameters.size() > 1) {
    memory.emplace(DNNL_ARG_BIAS, DnnlMemory(bias_, args.parameters[1]));
  }
  forward_.primitive.execute(DnnlStream(), memory);
  DnnlStream().wait();
}

void WeightedKernel::Backward(const KernelArgs& args) {
  char* scratch = static_cast<char*>(args.scratch);
  void* top_diff = args.top_diffs[0][0];
  if (relu_backward_) {
    ParallelFor(top_count_, 1024, [&](int64_t begin, int64_t end) {
      if (context_.compute == DType::kFP32) {
        ReluMask().fp32(static_cast<const float*>(args.tops[0]) + begin,
                        static_cast<float*>(top_diff) + begin, end - begin);
      } else {
        ReluMask().bf16(static_cast<const uint16_t*>(args.tops[0]) + begin,
                        static_cast<uint16_t*>(top_diff) + begin, end - begin);
      }
    });
  }
  // The weights' gradient first: it can travel while the rest is computed.
  Op& bw = backward_weights_;
  std::unordered_map<int, dnnl::memory> memory = {
      {DNNL_ARG_SRC, DnnlMemory(bw.source, args.bottoms[0])},
      {DNNL_ARG_DIFF_DST, DnnlMemory(bw.destination, top_diff)},
      {DNNL_ARG_DIFF_WEIGHTS, DnnlMemory(bw.weights, args.parameter_diffs[0])},
      {DNNL_ARG_SCRATCHPAD, DnnlMemory(bw.scratchpad, scratch)}};
  if (args.parameter_diffs.size() > 1) {
    memory.emplace(DNNL_ARG_DIFF_BIAS, DnnlMemory(bias_, args.parameter_diffs[1]));
  }
  bw.primitive.execute(DnnlStream(), memory);
  if (args.bottom_diffs[0] != nullptr) {
    Op& bd = backward_data_;
    const void* weights = Weights(&bd, args, scratch + backward_scratchpad_);
    bd.primitive.execute(DnnlStream(),
                         {{DNNL_ARG_DIFF_DST, DnnlMemory(bd.destination, top_diff)},
                          {DNNL_ARG_WEIGHTS, DnnlMemory(bd.weights, weights)},
                          {DNNL_ARG_DIFF_SRC, DnnlMemory(bd.source, args.bottom_diffs[0])},
                          {DNNL_ARG_SCRATCHPAD, DnnlMemory(bd.scratchpad, scratch)}});
  }
  DnnlStream().wait();
}

}  // namespace gf
