#include "layers/estimate/kernel.h"

#include <utility>

namespace gf {
namespace {

Arithmetic ArithmeticOf(const KernelContext& context) {
  if (context.compute == DType::kFP16) return Arithmetic::kFP16;
  if (context.compute == DType::kBF16) return Arithmetic::kBF16;
  return context.allow_tf32 ? Arithmetic::kTF32 : Arithmetic::kFP32;
}

}  // namespace

// Copies the name: the kernel may outlive the layer.
EstimateKernel::EstimateKernel(const Layer& layer, const KernelContext& context)
    : layer_name_(layer.declared_type()[0] == '_' ? "" : layer.name()), context_(context) {}

void EstimateKernel::Move(OperationKind kind, int64_t bytes, int launches) const {
  Operation operation;
  operation.kind = kind;
  operation.layer = layer_name_;
  operation.backward = backward_;
  operation.launches = launches;
  operation.bytes = bytes;
  static_cast<EstimateDevice*>(context_.device)->Add(std::move(operation));
}

void EstimateKernel::Multiply(OperationKind kind, int64_t bytes, int64_t flops) const {
  Operation operation;
  operation.kind = kind;
  operation.layer = layer_name_;
  operation.backward = backward_;
  operation.bytes = bytes;
  operation.flops = flops;
  operation.arithmetic = ArithmeticOf(context_);
  static_cast<EstimateDevice*>(context_.device)->Add(std::move(operation));
}

void EstimateKernel::Copy(OperationKind kind, const void* from, const void* to,
                          int64_t bytes) const {
  if (from != to) Move(kind, 2 * bytes);
}

void EstimateKernel::BiasGradient(int64_t bytes, bool bias, bool relu) const {
  if (!bias && !relu) return;
  Move(OperationKind::kBiasGradient, bytes * (relu ? 3 : 1));
}

}  // namespace gf
