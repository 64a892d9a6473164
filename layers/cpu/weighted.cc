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
  const dnnl::memory::desc source = forward_.source.wanted,
                           destination = forward_.destination.wanted;
  plan->bottoms[0].layout = FromDnnl(source);
  plan->tops[0].layout = FromDnnl(destination);
  if (!plan->parameters_fixed) {
    plan->parameters[0].layout =
        FromDnnl(backward_ ? backward_weights_.weights.wanted : forward_.weights.wanted);
  }
  dnnl::memory::desc weights = ToDnnl(plan->parameters[0]);
  if (weights.data.ndims != forward_.weights.wanted.data.ndims) {
    // Plain weights of a grouped convolution: the same order with one more axis.
    weights = PlainDesc(Shape(forward_.weights.wanted.dims()), plan->parameters[0].dtype);
  }
  if (plan->parameters.size() > 1) bias_ = ToDnnl(plan->parameters[1]);

  Adapt(&forward_, source, weights, destination);
  plan->forward_scratch_bytes = forward_.scratch_bytes;
  if (!backward_) {
    if (forward_.weights.differs) {
      kept_weights_ = context_.device->Allocate(forward_.weights.wanted.get_size());
    }
    return;
  }
  Adapt(&backward_weights_, source, weights, destination);
  plan->backward_scratch_bytes = backward_weights_.scratch_bytes;
  if (backward_data_.primitive) {
    Adapt(&backward_data_, source, weights, destination);
    plan->backward_scratch_bytes =
        std::max(plan->backward_scratch_bytes, backward_data_.scratch_bytes);
  }
  plan->needs_bottom[0] = true;
  plan->needs_top[0] = relu_backward_;
  top_count_ = plan->tops[0].storage_count();
}

void WeightedKernel::Adapt(Op* op, const dnnl::memory::desc& source,
                           const dnnl::memory::desc& weights,
                           const dnnl::memory::desc& destination) {
  op->scratch_bytes = Align(op->scratchpad.get_size());
  const auto adapt = [&](Operand* operand, const dnnl::memory::desc& given) {
    operand->given = given;
    operand->differs = operand->wanted != given;
    if (!operand->differs) return;
    operand->offset = op->scratch_bytes;
    op->scratch_bytes += Align(operand->wanted.get_size());
    const auto reorder = [](const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
      return dnnl::reorder(
          dnnl::reorder::primitive_desc(DnnlEngine(), from, DnnlEngine(), to));
    };
    operand->to_wanted = reorder(given, operand->wanted);
    operand->to_given = reorder(operand->wanted, given);
  };
  adapt(&op->source, source);
  adapt(&op->weights, weights);
  adapt(&op->destination, destination);
}

dnnl::memory WeightedKernel::In(Operand* operand, const void* data, void* scratch) {
  dnnl::memory given = DnnlMemory(operand->given, data);
  if (!operand->differs) return given;
  dnnl::memory wanted =
      DnnlMemory(operand->wanted, static_cast<char*>(scratch) + operand->offset);
  operand->to_wanted.execute(DnnlStream(), given, wanted);
  return wanted;
}

dnnl::memory WeightedKernel::Weights(Op* op, const KernelArgs& args) {
  if (backward_ || !op->weights.differs) return In(&op->weights, args.parameters[0], args.scratch);
  dnnl::memory kept = DnnlMemory(op->weights.wanted, kept_weights_.get());
  if (kept_version_ != args.parameters_version) {
    dnnl::memory given = DnnlMemory(op->weights.given, args.parameters[0]);
    op->weights.to_wanted.execute(DnnlStream(), given, kept);
    kept_version_ = args.parameters_version;
  }
  return kept;
}

void WeightedKernel::Forward(const KernelArgs& args) {
  std::unordered_map<int, dnnl::memory> memory = {
      {DNNL_ARG_SRC, In(&forward_.source, args.bottoms[0], args.scratch)},
      {DNNL_ARG_WEIGHTS, Weights(&forward_, args)},
      {DNNL_ARG_DST, DnnlMemory(forward_.destination.wanted, args.tops[0])},
      {DNNL_ARG_SCRATCHPAD, DnnlMemory(forward_.scratchpad, args.scratch)}};
  if (args.parameters.size() > 1) {
    memory.emplace(DNNL_ARG_BIAS, DnnlMemory(bias_, args.parameters[1]));
  }
  forward_.primitive.execute(DnnlStream(), memory);
  DnnlStream().wait();
}

void WeightedKernel::Backward(const KernelArgs& args) {
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
  dnnl::memory weights_diff = DnnlMemory(bw.weights.given, args.parameter_diffs[0]);
  dnnl::memory computed = weights_diff;
  if (bw.weights.differs) {
    computed = DnnlMemory(bw.weights.wanted, static_cast<char*>(args.scratch) + bw.weights.offset);
  }
  std::unordered_map<int, dnnl::memory> memory = {
      {DNNL_ARG_SRC, In(&bw.source, args.bottoms[0], args.scratch)},
      {DNNL_ARG_DIFF_DST, In(&bw.destination, top_diff, args.scratch)},
      {DNNL_ARG_DIFF_WEIGHTS, computed},
      {DNNL_ARG_SCRATCHPAD, DnnlMemory(bw.scratchpad, args.scratch)}};
  if (args.parameter_diffs.size() > 1) {
    memory.emplace(DNNL_ARG_DIFF_BIAS, DnnlMemory(bias_, args.parameter_diffs[1]));
  }
  bw.primitive.execute(DnnlStream(), memory);
  if (bw.weights.differs) bw.weights.to_given.execute(DnnlStream(), computed, weights_diff);

  if (args.bottom_diffs[0] != nullptr) {
    Op& bd = backward_data_;
    dnnl::memory source_diff = DnnlMemory(bd.source.given, args.bottom_diffs[0]);
    dnnl::memory result = source_diff;
    if (bd.source.differs) {
      result = DnnlMemory(bd.source.wanted, static_cast<char*>(args.scratch) + bd.source.offset);
    }
    bd.primitive.execute(DnnlStream(),
                         {{DNNL_ARG_DIFF_DST, In(&bd.destination, top_diff, args.scratch)},
                          {DNNL_ARG_WEIGHTS, Weights(&bd, args)},
                          {DNNL_ARG_DIFF_SRC, result},
                          {DNNL_ARG_SCRATCHPAD, DnnlMemory(bd.scratchpad, args.scratch)}});
    if (bd.source.differs) bd.source.to_given.execute(DnnlStream(), result, source_diff);
  }
  DnnlStream().wait();
}

}  // namespace gf
