#include "layers/cpu/weighted.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

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
  if (!extras_.bias) return {};
  return PlainDesc(setup.parameters[1].shape, math_);
}

void WeightedKernel::Transpose() {
  std::swap(forward_, backward_data_);
  for (Op* op : {&forward_, &backward_weights_, &backward_data_}) {
    std::swap(op->source, op->destination);
  }
}

void WeightedKernel::Setup(KernelSetup* setup) {
  backward_ = setup->backward;
  dnnl::primitive_attr attr = PlainAttr();
  if (extras_.relu) {
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
  if (!setup->trains) backward_weights_ = Op();
  const dnnl::memory::desc source = forward_.source.wanted,
                           destination = forward_.destination.wanted;
  setup->bottoms[0].layout = FromDnnl(source);
  setup->tops[0].layout = FromDnnl(destination);
  if (!setup->parameters_fixed) {
    setup->parameters[0].layout = FromDnnl(
        backward_weights_.primitive ? backward_weights_.weights.wanted : forward_.weights.wanted);
  }
  dnnl::memory::desc weights = ToDnnl(setup->parameters[0]);
  const dnnl::memory::dims filters = DnnlDims(forward_.weights.wanted);
  if (DnnlDims(weights).size() != filters.size()) {
    // Plain weights of a grouped convolution have the same order with one more axis.
    weights = PlainDesc(Shape(filters), setup->parameters[0].dtype);
  }
  dnnl::memory::desc bias;
  if (extras_.bias) bias = ToDnnl(setup->parameters[1]);
  // Parameters are read in the type of the arithmetic; all other tensors are in the compute type.
  const auto math = ToDnnl(math_), compute = ToDnnl(context_.compute);
  const dnnl::memory::desc read_weights = Retyped(weights, math),
                           read_bias = bias.is_zero() ? bias : Retyped(bias, math),
                           given_source = Retyped(source, compute),
                           given_destination = Retyped(destination, compute);

  Adapt(&forward_, given_source, read_weights, read_bias, given_destination);
  setup->forward_scratch_bytes = forward_.scratch_bytes;
  if (!backward_) {
    if (forward_.weights.differs) setup->kept_bytes = forward_.weights.wanted.get_size();
    return;
  }
  setup->skips_parameter_diffs = !setup->trains;
  if (setup->trains) {
    Adapt(&backward_weights_, given_source, weights, bias, given_destination);
    setup->backward_scratch_bytes = backward_weights_.scratch_bytes;
  }
  if (backward_data_.primitive) {
    Adapt(&backward_data_, given_source, read_weights, {}, given_destination);
    setup->backward_scratch_bytes =
        std::max(setup->backward_scratch_bytes, backward_data_.scratch_bytes);
  }
  setup->needs_bottom[0] = setup->trains;
  setup->needs_top[0] = extras_.relu_backward;
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
  if (kept_weights_ == nullptr) {
    kept_weights_ = context_.device->Allocate(op->weights.wanted.get_size());
  }
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
      {op.source.argument, In(&op.source, args.bottoms[0], args.scratch)},
      {op.weights.argument, Weights(&op, args)},
      {op.destination.argument, Out(&op.destination, args.tops[0], args.scratch)},
      {DNNL_ARG_SCRATCHPAD, DnnlMemory(op.scratchpad, args.scratch)}};
  if (extras_.bias) {
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
  if (extras_.relu_backward) MaskByRelu(context_.compute, args.tops[0], top_diff, top_count_);
  // The gradient of the weights comes first: it can travel while the rest is computed.
  if (backward_weights_.primitive) BackwardWeights(args);
  if (args.bottom_diffs[0] != nullptr) {
    Op& bd = backward_data_;
    bd.primitive.execute(DnnlStream(),
                         {{bd.destination.argument, In(&bd.destination, top_diff, scratch)},
                          {bd.weights.argument, Weights(&bd, args)},
                          {bd.source.argument, Out(&bd.source, args.bottom_diffs[0], scratch)},
                          {DNNL_ARG_SCRATCHPAD, DnnlMemory(bd.scratchpad, scratch)}});
    Finish(&bd.source, args.bottom_diffs[0], scratch);
  }
  DnnlStream().wait();
}

void WeightedKernel::BackwardWeights(const KernelArgs& args) {
  void* scratch = args.scratch;
  Op& bw = backward_weights_;
  std::unordered_map<int, dnnl::memory> memory = {
      {bw.source.argument, In(&bw.source, args.bottoms[0], scratch)},
      {bw.destination.argument, In(&bw.destination, args.top_diffs[0][0], scratch)},
      {bw.weights.argument, Out(&bw.weights, args.parameter_diffs[0], scratch)},
      {DNNL_ARG_SCRATCHPAD, DnnlMemory(bw.scratchpad, scratch)}};
  if (extras_.bias) {
    memory.emplace(DNNL_ARG_DIFF_BIAS, Out(&bw.bias, args.parameter_diffs[1], scratch));
  }
  bw.primitive.execute(DnnlStream(), memory);
  Finish(&bw.weights, args.parameter_diffs[0], scratch);
  if (extras_.bias) Finish(&bw.bias, args.parameter_diffs[1], scratch);
}

}  // namespace gf
