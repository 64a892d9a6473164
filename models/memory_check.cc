#include "models/memory_check.h"

#include <algorithm>
#include <string>

#include "core/error.h"
#include "core/host_memory.h"
#include "core/readable.h"

namespace gf {
namespace {

bool IsHost(const Device& device) { return device.name() == "cpu"; }

// In doubles: sums of sane shapes overflow 64 bits.
double BytesOf(const CompiledBlob& blob) {
  return static_cast<double>(blob.desc.shape.count()) * SizeOf(blob.desc.dtype);
}

double BytesPerParameter(const NetOptions& options) {
  double bytes = SizeOf(DType::kFP32);
  if (options.compute != DType::kFP32) bytes += SizeOf(options.compute);
  if (options.phase == TRAIN) bytes += SizeOf(options.compute);  // gradients
  return bytes;
}

// The operation with the largest top, and that top; null in a net without tops.
struct LargestTop {
  const CompiledOp* op = nullptr;
  const CompiledBlob* blob = nullptr;
};

LargestTop FindLargestTop(const CompiledNet& net) {
  LargestTop largest;
  for (const CompiledOp& op : net.ops) {
    for (int top : op.tops) {
      const CompiledBlob& blob = net.blobs[top];
      if (largest.op == nullptr || BytesOf(blob) > BytesOf(*largest.blob)) largest = {&op, &blob};
    }
  }
  return largest;
}

void CheckParametersFit(const CompiledNet& net, const NetOptions& options, double memory) {
  const double each = BytesPerParameter(options);
  double all = 0;
  const CompiledOp* largest_op = nullptr;
  const ParameterSpec* largest = nullptr;
  for (const CompiledOp& op : net.ops) {
    for (size_t i = 0; i < op.parameters.size(); ++i) {
      if (!op.parameters[i].owned) continue;
      const ParameterSpec& spec = op.layer->parameters()[i];
      all += each * static_cast<double>(spec.shape.count());
      if (largest != nullptr && spec.shape.count() <= largest->shape.count()) continue;
      largest_op = &op;
      largest = &spec;
    }
  }
  if (all <= memory) return;
  largest_op->layer->Fail("its ", largest->name, " of ", largest->shape.ToString(), " takes ",
                          HumanBytes(each * static_cast<double>(largest->shape.count())),
                          options.phase == TRAIN ? " with its gradient" : "",
                          ", all parameters of the net take ", HumanBytes(all),
                          ", but this process can have ", HumanBytes(memory),
                          ": make the layer smaller, or use a host with more memory");
}

// Libraries count an extent, and the pixels of an image, in 32 bits, and round them up.
constexpr int64_t kMostCounted = int64_t{1} << 30;

void RequireCountable(const Layer& layer, const std::string& what, const Shape& shape) {
  int64_t most = shape.rank() < 3 ? 1 : shape.count(2, shape.rank());
  for (int64_t extent : shape.dims()) most = std::max(most, extent);
  if (most <= kMostCounted) return;
  layer.Fail("its ", what, " of ", shape.ToString(), " has an extent, or pixels of an image, of ",
             WithCommas(most), ", must be at most ", WithCommas(kMostCounted),
             ": make the layer smaller");
}

}  // namespace

void CheckShapesFit(const CompiledNet& net, const NetOptions& options, const Device& device) {
  if (!IsHost(device)) return;
  const double memory = HostMemory();
  if (options.parameters == nullptr) CheckParametersFit(net, options, memory);
  const LargestTop largest = FindLargestTop(net);
  if (largest.op == nullptr || BytesOf(*largest.blob) <= memory) return;
  largest.op->layer->Fail("its top \"", largest.blob->name, "\" of ",
                          largest.blob->desc.shape.ToString(), " takes ",
                          HumanBytes(BytesOf(*largest.blob)), ", but this process can have ",
                          HumanBytes(memory), ": lower batch_size, or make the layer smaller");
}

void CheckArenaFits(const CompiledNet& net, const NetOptions& options, const Device& device) {
  const auto all = static_cast<double>(net.memory.bytes());
  if (!IsHost(device) || all <= HostMemory()) return;
  const LargestTop largest = FindLargestTop(net);
  largest.op->layer->Fail(
      "its top \"", largest.blob->name, "\" of ", largest.blob->desc.shape.ToString(), " takes ",
      HumanBytes(BytesOf(*largest.blob)), ", all activations of the net take ", HumanBytes(all),
      ", but this process can have ", HumanBytes(HostMemory()), ": lower batch_size",
      options.recompute ? "" : ", set recompute: true", ", or make the layer smaller");
}

void CheckCountable(const CompiledNet& net) {
  for (const CompiledOp& op : net.ops) {
    for (const ParameterSpec& spec : op.layer->parameters()) {
      RequireCountable(*op.layer, spec.name, spec.shape);
    }
    for (int top : op.tops) {
      const CompiledBlob& blob = net.blobs[top];
      RequireCountable(*op.layer, "top \"" + blob.name + "\"", blob.desc.shape);
    }
  }
}

}  // namespace gf
