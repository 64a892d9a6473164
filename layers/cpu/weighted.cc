#include "layers/cpu/weighted.h"

#include <algorithm>
#include <unordered_map>

#include "layers/cpu/elementwise.h"

namespace gf {
namespace {

size_t Align(size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

dnnl::primitive_attr WeightedKernel::PlainAttr() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

dnnl::prop_kind WeightedKernel::ForwardKind(const KernelSetup& setup) {
  return setup.backward ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
}

dnnl::memory::desc WeightedKernel::BiasDesc(const KernelSetup& setup) const {
  if (setup.parameters.size() < 2) return {};
  return PlainDesc(setup.parameters[1].shape, math_);
}

void WeightedKernel::Setup(KernelSetup* setup) {
  backward_ = setup->backward;
  dnnl::primitive_attr attr = PlainAttr();
  if (relu_) {
    dnnl::post_ops ops;
    AppendRelu(&ops);
    attr.set_post_ops(ops);
  }
  try {
    Build(*setup, attr);
  } catch (const dnnl::error& e) {
    if (context_.compute == DType::kBF16) {
      layer_.Fail("oneDNN cannot compute this in BF16 on this processor (", e.what(),
                  "); BF16 needs AVX-512, set compute_type: FP32");
    }
    layer_.Fail("oneDNN cannot compute this: ", e.what());
  }
  const dnnl::memory::desc source = forward_.source.wanted,
                           destination = forward_.destination.wanted;
  setup->bottoms[0].layout = FromDnnl(source);
  setup->tops[0].layout = FromDnnl(destination);
  if (!setup->parameters_fixed) {
    setup->parameters[0].layout =
        FromDnnl(backward_ ? backward_weights_.weights.wanted : forward_.weights.wanted);
  }
  dnnl::memory::desc weights = ToDnnl(setup->parameters[0]);
  const dnnl::memory::dims filters = DnnlDims(forward_.weights.wanted);
  if (DnnlDims(weights).size() != filters.size()) {
    // Plain weights of a grouped convolution have the same order with one more axis.
    weights = PlainDesc(Shape(filters), setup->parameters[0].dtype);
  }
  dnnl::memory::desc bias;
  if (setup->parameters.size() > 1) bias = ToDnnl(setup->parameters[1]);
  // Parameters are read in the type of the arithmetic; all other tensors are in the compute type.
  const auto math = ToDnnl(math_), compute = ToDnnl(context_.compute);
  const dnnl::memory::desc read_weights = Retyped(weights, math),
                           read_bias = bias.is_zero() ? bias : Retyped(bias, math),
                           given_source = Retyped(source, compute),
                           given_destination = Retyped(destination, compute);

  Adapt(&forward_, given_source, read_weights, read_bias, given_destination);
  setup->forward_scratch_bytes = forward_.scratch_bytes;
  if (!backward_) {
    if (forward_.weights.differs) {
      kept_weights_ = context_.device->Allocate(forward_.weights.wanted.get_size());
    }
    return;
  }
  Adapt(&backward_weights_, given_source, weights, bias, given_destination);
  setup->backward_scratch_bytes = backward_weights_.scratch_bytes;
  if (backward_data_.primitive) {
    Adapt(&backward_data_, given_source, read_weights, {}, given_destination);
    setup->backward_scratch_bytes =
        std::max(setup->backward_scratch_bytes, backward_data_.scratch_bytes);
  }
  setup->needs_bottom[0] = true;
  setup->needs_top[0] = relu_backward_;
  top_count_ = setup->tops[0].storage_count();
}

void WeightedKernel::Adapt(Op* op, const dnnl::memory::desc& source,
                           const dnnl::memory::desc& weights, const dnnl::memory::desc& bias,
                           const dnnl::memory::desc& destination) {
  op->scratch_bytes = Align(op->scratchpad.get_size());
  const auto adapt = [&](Operand* operand, const dnnl::memory::desc& given) {
    operand->given = given;
    operand->differs = operand->wanted != given;
    if (!operand->differs) return;
    operand->offset = op->scratch_bytes;
    op->scratch_bytes += Align(operand->wanted.get_size());
    const auto reorder = [](const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
      return dnnl::reorder(dnnl::reorder::primitive_desc(DnnlEngine(), from, DnnlEngine(), to));
    };
    operand->to_wanted = reorder(given, operand->wanted);
    operand->to_given = reorder(operand->wanted, given);
  };
  adapt(&op->source, source);
  adapt(&op->weights, weights);
  adapt(&op->destination, destination);
  if (bias.is_zero()) return;
  op->bias.wanted = PlainDesc(Shape(DnnlDims(bias)), math_);
  adapt(&op->bias, bias);
}

dnnl::memory WeightedKernel::In(Operand* operand, const void* data, void* scratch) {
  dnnl::memory given = DnnlMemory(operand->given, data);
  if (!operand->differs) return given;
  dnnl::memory wanted = DnnlMemory(operand->wanted, static_cast<char*>(scratch) + operand->offset);
  operand->to_wanted.execute(DnnlStream(), given, wanted);
  return wanted;
}

dnnl::memory WeightedKernel::Out(Operand* operand, void* data, void* scratch) {
  if (!operand->differs) return DnnlMemory(operand->given, data);
  return DnnlMemory(operand->wanted, static_cast<char*>(scratch) + operand->offset);
}

void WeightedKernel::Finish(Operand* operand, void* data, void* scratch) {
  if (!operand->differs) return;
  dnnl::memory wanted = Out(operand, data, scratch), given = DnnlMemory(operand->given, data);
  operand->to_given.execute(DnnlStream(), wanted, given);
}

dnnl::memory WeightedKernel::Weights(Op* op, const KernelArgs& args) {
  const void* weights = math_ == context_.compute ? args.parameters[0] : args.master[0];
  if (backward_ || !op->weights.differs) return In(&op->weights, weights, args.scratch);
  dnnl::memory kept = DnnlMemory(op->weights.wanted, kept_weights_.get());
  if (kept_version_ != args.parameters_version) {
    dnnl::memory given = DnnlMemory(op->weights.given, weights);
    op->weights.to_wanted.execute(DnnlStream(), given, kept);
    kept_version_ = args.parameters_version;
  }
  return kept;
}

void WeightedKernel::Forward(const KernelArgs& args) {
  Op& op = forward_;
  std::unordered_map<int, dnnl::memory> memory = {
      {DNNL_ARG_SRC, In(&op.source, args.bottoms[0], args.scratch)},
      {DNNL_ARG_WEIGHTS, Weights(&op, args)},
      {DNNL_ARG_DST, Out(&op.destination, args.tops[0], args.scratch)},
      {DNNL_ARG_SCRATCHPAD, DnnlMemory(op.scratchpad, args.scratch)}};
  if (args.parameters.size() > 1) {
    const void* bias = math_ == context_.compute ? args.parameters[1] : args.master[1];
    memory.emplace(DNNL_ARG_BIAS, DnnlMemory(op.bias.given, bias));
  }
  op.primitive.execute(DnnlStream(), memory);
  Finish(&op.destination, args.tops[0], args.scratch);
  DnnlStream().wait();
}

void WeightedKernel::Backward(const KernelArgs& args) {
  void* top_diff = args.top_diffs[0][0];
  void* scratch = args.scratch;
  if (relu_backward_) MaskByRelu(context_.compute, args.tops[0], top_diff, top_count_);
  // The gradient of the weights comes first: it can travel while the rest is computed.
  Op& bw = backward_weights_;
  std::unordered_map<int, dnnl::memory> memory = {
      {DNNL_ARG_SRC, In(&bw.source, args.bottoms[0], scratch)},
      {DNNL_ARG_DIFF_DST, In(&bw.destination, top_diff, scratch)},
      {DNNL_ARG_DIFF_WEIGHTS, Out(&bw.weights, args.parameter_diffs[0], scratch)},
      {DNNL_ARG_SCRATCHPAD, DnnlMemory(bw.scratchpad, scratch)}};
  if (args.parameter_diffs.size() > 1) {
    memory.emplace(DNNL_ARG_DIFF_BIAS, Out(&bw.bias, args.parameter_diffs[1], scratch));
  }
  bw.primitive.execute(DnnlStream(), memory);
  Finish(&bw.weights, args.parameter_diffs[0], scratch);
  if (args.parameter_diffs.size() > 1) Finish(&bw.bias, args.parameter_diffs[1], scratch);

  if (args.bottom_diffs[0] != nullptr) {
    Op& bd = backward_data_;
    bd.primitive.execute(DnnlStream(),
                         {{DNNL_ARG_DIFF_DST, In(&bd.destination, top_diff, scratch)},
                          {DNNL_ARG_WEIGHTS, Weights(&bd, args)},
                          {DNNL_ARG_DIFF_SRC, Out(&bd.source, args.bottom_diffs[0], scratch)},
                          {DNNL_ARG_SCRATCHPAD, DnnlMemory(bd.scratchpad, scratch)}});
    Finish(&bd.source, args.bottom_diffs[0], scratch);
  }
  DnnlStream().wait();
}

}  // namespace gf
