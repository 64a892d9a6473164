#pragma once

#include "layers/batch_norm.h"
#include "layers/cuda/batch_norm_kernels.h"
#include "layers/kernel.h"

namespace gf {

// Fails the layer if ranks share statistics.
inline void CheckOwnStatistics(const BatchNormLayer& layer, const KernelContext& context) {
  if (context.batch_norm_group == nullptr || layer.global_statistics()) return;
  layer.Fail("ranks cannot share statistics on device \"cuda\": set batch_norm_group: 1");
}

// Rows of one FP32 number per channel in the memory of a batch norm's kernel.
class ChannelRows {
 public:
  static constexpr int kForward = 4, kBackward = 3;  // numbers of rows: of forward, of backward

  static size_t Aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

  ChannelRows() = default;
  explicit ChannelRows(int channels) : bytes_(Aligned(channels * sizeof(float))) {}
  // The rows of a tensor, without space between them.
  static ChannelRows OfTensor(int channels) {
    ChannelRows rows;
    rows.bytes_ = channels * sizeof(float);
    return rows;
  }

  size_t Bytes(int rows) const { return rows * bytes_; }
  float* Row(void* base, int row) const {
    return reinterpret_cast<float*>(static_cast<char*>(base) + row * bytes_);
  }

  // `forward` has kForward rows, and `backward` kBackward rows; null in Forward.
  BatchNormChannels Channels(const BatchNormLayer& layer, const KernelArgs& args, void* forward,
                             void* backward = nullptr) const {
    BatchNormChannels ch;
    if (layer.scale()) ch.gamma = args.master[0];
    if (layer.scale_bias()) ch.beta = args.master[1];
    ch.running_mean = args.states[0];
    ch.running_variance = args.states[1];
    ch.mean = Row(forward, 0);
    ch.inverse_std = Row(forward, 1);
    ch.scale = Row(forward, 2);
    ch.offset = Row(forward, 3);
    if (backward == nullptr) return ch;
    ch.a = Row(backward, 0);
    ch.b = Row(backward, 1);
    ch.c = Row(backward, 2);
    return ch;
  }

 private:
  size_t bytes_ = 0;
};

// What the forward calls of all kernels of batch norms have in common.
inline BatchNormForward ForwardOf(const BatchNormLayer& layer, const ColumnsView& view, DType type,
                                  const KernelArgs& args) {
  BatchNormForward call;
  call.view = view;
  call.type = type;
  call.eps = layer.eps();
  call.fraction = layer.fraction();
  call.relu = layer.relu();
  call.x = args.bottoms[0];
  return call;
}

// Gives the call the sums of the convolution or, without them, computes the batch's statistics.
inline void TakeStatistics(const BatchNormLayer& layer, const KernelArgs& args,
                           const ColumnSumsMemory& memory, cudaStream_t stream,
                           BatchNormForward* call) {
  if (layer.sums()) {
    call->with = NormalizeWith::kSums;
    call->sums = static_cast<const float*>(args.bottoms.back());
  } else {
    BatchStatistics(*call, memory, stream);
  }
}

}  // namespace gf
