#include "layers/cpu/depthwise_convolution.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "core/bf16_inline.h"
#include "core/parallel.h"
#include "layers/cpu/depthwise_kernels.h"
#include "layers/cpu/depthwise_strips.h"
#include "layers/cpu/elementwise.h"

namespace gf {
namespace {

// See Note [Several filters per channel] (layers/cpu/depthwise_strips.h). T is the C++ type of the
// compute type.
template <typename T>
class DepthwiseConvolution : public Kernel {
 public:
  DepthwiseConvolution(const ConvolutionLayer& layer, const KernelContext& context)
      : layer_(layer), type_(context.compute) {}

  bool CanOmitBottomDiff() const override { return true; }
  std::string Describe() const override { return "own depthwise loops"; }

  void Setup(KernelSetup* setup) override {
    ChooseLayouts(setup);
    const Shape &bottom = setup->bottoms[0].shape, &top = setup->tops[0].shape;
    const Window& window = layer_.window();
    for (int i = 0; i < 2; ++i) {
      plane_.in[i] = bottom[2 + i];
      plane_.out[i] = top[2 + i];
      plane_.kernel[i] = window.kernel[i];
      plane_.stride[i] = window.stride[i];
      plane_.pad[i] = window.pad[i];
      plane_.dilation[i] = window.dilation[i];
    }
    plane_.y_step = strips_.result_step();
    images_ = bottom[0];
    taps_ = window.kernel[0] * window.kernel[1];
    top_count_ = setup->tops[0].storage_count();
    // Enough tasks for many threads. Sums must not depend on the number of threads, so neither does
    // the number of tasks.
    constexpr int64_t kTasks = 128;
    const auto strips = static_cast<int64_t>(strips_.all().size());
    parts_ = std::min(images_, (kTasks + strips - 1) / strips);
    setup->forward_scratch_bytes = strips_.packed() * (taps_ + 1) * sizeof(float);
    if (!setup->backward) return;
    trains_ = setup->trains;
    setup->skips_parameter_diffs = !trains_;
    const int64_t gradients = trains_ ? parts_ * (taps_ + 1) : 0;
    setup->backward_scratch_bytes = std::max(gradients, taps_) * strips_.packed() * sizeof(float);
    setup->needs_bottom[0] = trains_;
    setup->needs_top[0] = layer_.relu_backward();
  }

  void Forward(const KernelArgs& args) override {
    const T* const x = static_cast<const T*>(args.bottoms[0]);
    T* const y = static_cast<T*>(args.tops[0]);
    float* const w = static_cast<float*>(args.scratch);
    float* const biases = layer_.bias() ? w + strips_.packed() * taps_ : nullptr;
    strips_.Pack(args.master[0], taps_, w);
    if (biases != nullptr) strips_.Pack(args.master[1], 1, biases);
    ForPlanes([&](int64_t image, const DepthwiseStrip& strip, Copies* copies) {
      strips_.ForPieces(strip, [&](int64_t j, int64_t channel) {
        const T* const images = Piece(strip, j, strips_.AtImages(x, image, strip.channel), copies);
        functions().forward(PlaneOf(strip), images, w + channel * taps_,
                            biases != nullptr ? biases + channel : nullptr, layer_.relu(),
                            strips_.AtResults(y, image, channel));
      });
    });
  }

  // The gradients of the parameters come first: they can travel while the rest is computed.
  void Backward(const KernelArgs& args) override {
    T* const dy = static_cast<T*>(args.top_diffs[0][0]);
    if (layer_.relu_backward()) MaskByRelu(type_, args.tops[0], dy, top_count_);
    if (trains_) BackwardParameters(args, dy);
    if (args.bottom_diffs[0] == nullptr) return;
    float* const w = static_cast<float*>(args.scratch);
    strips_.Pack(args.master[0], taps_, w);
    T* const dx = static_cast<T*>(args.bottom_diffs[0]);
    ForPlanes([&](int64_t image, const DepthwiseStrip& strip, Copies* copies) {
      T* const to = strips_.AtImages(dx, image, strip.channel);
      if (strips_.multiplier() > 1) return AddPieces(strip, image, dy, w, to, copies);
      functions().backward_data(PlaneOf(strip), strips_.AtResults(dy, image, strip.channel),
                                w + strip.channel * taps_, to);
    });
  }

 private:
  // Memory of a thread for a strip of an image, as [pixels][lanes].
  struct Copies {
    std::vector<T> x;
    std::vector<float> piece, sums;
  };

  static const DepthwiseFunctions<T>& functions() {
    if constexpr (std::is_same_v<T, float>) {
      return DepthwiseTable().fp32;
    } else {
      return DepthwiseTable().bf16;
    }
  }
  static DepthwiseWeights<T> weights() {
    if constexpr (std::is_same_v<T, float>) {
      return DepthwiseWeightsTable().fp32;
    } else {
      return DepthwiseWeightsTable().bf16;
    }
  }

  // Keeps blocks of 16 or 8 channels and nhwc; asks for blocks otherwise, unless they would be
  // mostly padding.
  void ChooseLayouts(KernelSetup* setup) {
    constexpr int64_t kLeastChannels = 4;
    TensorDesc& bottom = setup->bottoms[0];
    ChannelView images, results;
    const bool known = GetChannelView(bottom, &images);
    if (!known || !(images.channels_last || images.block == 16 || images.block == 8)) {
      ChannelView wanted;
      wanted.block = BestIsa() == Isa::kAvx512 ? 16 : 8;
      bottom.layout = bottom.shape[1] < kLeastChannels ? Layout() : LayoutLike(wanted, bottom);
      CHECK(GetChannelView(bottom, &images)) << bottom.layout.Name();
    }
    setup->tops[0].layout = LayoutLike(images, setup->tops[0]);
    CHECK(GetChannelView(setup->tops[0], &results)) << setup->tops[0].layout.Name();
    strips_ = DepthwiseStrips(images, results);
  }

  // With several filters per channel, x is a copy.
  DepthwisePlane PlaneOf(const DepthwiseStrip& strip) const {
    DepthwisePlane plane = plane_;
    plane.lanes = strip.lanes;
    plane.x_step = strips_.multiplier() == 1 ? strips_.image_step() : strip.lanes;
    return plane;
  }

  // Calls f(image, strip, copies) for every strip of every image.
  template <typename F>
  void ForPlanes(const F& f) const {
    const auto strips = static_cast<int64_t>(strips_.all().size());
    ParallelFor(images_ * strips, 1, [&](int64_t begin, int64_t end) {
      Copies copies;
      for (int64_t i = begin; i < end; ++i) f(i / strips, strips_.all()[i % strips], &copies);
    });
  }

  // The images of piece j of a strip at x: a copy if there are several pieces.
  const T* Piece(const DepthwiseStrip& strip, int64_t j, const T* x, Copies* copies) const {
    const int64_t multiplier = strips_.multiplier(), pixels = plane_.in[0] * plane_.in[1];
    if (multiplier == 1) return x;
    copies->x.resize(pixels * strip.lanes);
    for (int l = 0; l < strip.lanes; ++l) {
      const T* const from = x + (j * strip.lanes + l) / multiplier;
      T* const to = copies->x.data() + l;
      for (int64_t i = 0; i < pixels; ++i) to[i * strip.lanes] = from[i * strips_.image_step()];
    }
    return copies->x.data();
  }

  // The gradient of a strip at dx: the sum over its pieces.
  void AddPieces(const DepthwiseStrip& strip, int64_t image, const T* dy, const float* w, T* dx,
                 Copies* copies) const {
    const int64_t multiplier = strips_.multiplier(), pixels = plane_.in[0] * plane_.in[1];
    const int64_t lanes = strip.lanes;
    copies->piece.resize(pixels * lanes);
    copies->sums.assign(pixels * lanes, 0.f);
    strips_.ForPieces(strip, [&](int64_t j, int64_t channel) {
      functions().backward_data_fp32(PlaneOf(strip), strips_.AtResults(dy, image, channel),
                                     w + channel * taps_, copies->piece.data());
      for (int64_t l = 0; l < lanes; ++l) {
        float* const sum = copies->sums.data() + (j * lanes + l) / multiplier;
        const float* const from = copies->piece.data() + l;
        for (int64_t i = 0; i < pixels; ++i) sum[i * lanes] += from[i * lanes];
      }
    });
    const float* const sums = copies->sums.data();
    for (int64_t i = 0; i < pixels; ++i) {
      for (int64_t l = 0; l < lanes; ++l) {
        Store(dx + i * strips_.image_step() + l, sums[i * lanes + l]);
      }
    }
  }

  // A task is a strip of a part of the images; the parts are added up in their order.
  void BackwardParameters(const KernelArgs& args, const T* dy) const {
    const T* const x = static_cast<const T*>(args.bottoms[0]);
    const auto strips = static_cast<int64_t>(strips_.all().size());
    const int64_t packed = strips_.packed();
    float* const dw = static_cast<float*>(args.scratch);
    float* const dbias = dw + parts_ * packed * taps_;
    ParallelFor(parts_ * strips, 1, [&](int64_t begin, int64_t end) {
      Copies copies;
      for (int64_t task = begin; task < end; ++task) {
        const DepthwiseStrip& strip = strips_.all()[task % strips];
        const int64_t part = task / strips;
        strips_.ForPieces(strip, [&](int64_t j, int64_t channel) {
          float* const own = dw + (part * packed + channel) * taps_;
          float* const own_bias = layer_.bias() ? dbias + part * packed + channel : nullptr;
          std::fill(own, own + strip.lanes * taps_, 0.f);
          if (own_bias != nullptr) std::fill(own_bias, own_bias + strip.lanes, 0.f);
          for (int64_t i = images_ * part / parts_; i < images_ * (part + 1) / parts_; ++i) {
            const T* const images = Piece(strip, j, strips_.AtImages(x, i, strip.channel), &copies);
            weights()(PlaneOf(strip), images, strips_.AtResults(dy, i, channel), own, own_bias);
          }
        });
      }
    });
    strips_.AddParts(dw, parts_, taps_, type_, args.parameter_diffs[0]);
    if (layer_.bias()) strips_.AddParts(dbias, parts_, 1, type_, args.parameter_diffs[1]);
  }

  const ConvolutionLayer& layer_;
  const DType type_;
  DepthwiseStrips strips_;
  DepthwisePlane plane_;  // without what depends on the strip
  int64_t images_ = 0, taps_ = 0, parts_ = 0, top_count_ = 0;
  bool trains_ = false;  // whether Backward computes gradients of the parameters
};

}  // namespace

std::unique_ptr<Kernel> NewDepthwiseConvolution(const ConvolutionLayer& layer,
                                                const KernelContext& context) {
  if (context.compute == DType::kFP32) {
    return std::make_unique<DepthwiseConvolution<float>>(layer, context);
  }
  return std::make_unique<DepthwiseConvolution<uint16_t>>(layer, context);
}

}  // namespace gf
