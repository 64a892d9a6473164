#include "layers/pooling.h"

#include <memory>
#include <vector>

#include "core/cpu/channel_view.h"
#include "core/cpu/dnnl.h"
#include "core/parallel.h"
#include "layers/cpu/pooling_kernels.h"
#include "layers/kernel.h"

namespace gf {
namespace {

// Uses our own kernels instead of oneDNN's: they follow Caffe's rounding and averages, and apply
// the gradient of a ReLU before a max pooling on the smaller, pooled side. One task is one plane.
template <typename T, typename Tap>
class PoolingKernel : public Kernel {
 public:
  PoolingKernel(const PoolingLayer& layer, const KernelContext& context) : layer_(layer) {}

  void Setup(KernelSetup* setup) override {
    if (!GetChannelView(setup->bottoms[0], &view_) ||
        (view_.block != 16 && view_.block != 8 && view_.block != 1)) {
      setup->bottoms[0].layout = Layout();
      GetChannelView(setup->bottoms[0], &view_);
    }
    const Shape& bottom = setup->bottoms[0].shape;
    const Shape& top = setup->tops[0].shape;
    if (setup->bottoms[0].layout.plain()) {
      setup->tops[0].layout = Layout();
    } else {
      const auto tag =
          view_.block == 16 ? dnnl::memory::format_tag::nChw16c : dnnl::memory::format_tag::nChw8c;
      setup->tops[0].layout =
          FromDnnl(dnnl::memory::desc(top.dims(), ToDnnl(setup->tops[0].dtype), tag));
    }
    plane_.block = static_cast<int>(view_.block);
    plane_.height = bottom[2];
    plane_.width = bottom[3];
    plane_.out_height = top[2];
    plane_.out_width = top[3];
    for (int i = 0; i < 2; ++i) {
      plane_.kernel[i] = layer_.window().kernel[i];
      plane_.stride[i] = layer_.window().stride[i];
      plane_.pad[i] = layer_.window().pad[i];
    }
    if (!setup->backward || !layer_.max()) return;
    setup->saved_bytes = setup->tops[0].storage_count() * sizeof(Tap);
    setup->needs_top[0] = layer_.relu_backward();
  }

  void Forward(const KernelArgs& args) override {
    const T* x = static_cast<const T*>(args.bottoms[0]);
    T* y = static_cast<T*>(args.tops[0]);
    Tap* taps = static_cast<Tap*>(args.saved);
    Planes([&](int64_t i, std::vector<float>*) {
      if (layer_.max()) {
        Table().max_forward(plane_, x + i * In(), y + i * Out(), taps ? taps + i * Out() : nullptr);
      } else {
        Table().average_forward(plane_, x + i * In(), y + i * Out());
      }
    });
  }

  void Backward(const KernelArgs& args) override {
    if (args.bottom_diffs[0] == nullptr) return;
    const T* dy = static_cast<const T*>(args.top_diffs[0][0]);
    const T* y = layer_.relu_backward() ? static_cast<const T*>(args.tops[0]) : nullptr;
    const Tap* taps = static_cast<const Tap*>(args.saved);
    T* dx = static_cast<T*>(args.bottom_diffs[0]);
    Planes([&](int64_t i, std::vector<float>* sums) {
      if (sizeof(T) < sizeof(float)) sums->resize(In());
      if (layer_.max()) {
        Table().max_backward(plane_, dy + i * Out(), y ? y + i * Out() : nullptr, taps + i * Out(),
                             sums->data(), dx + i * In());
      } else {
        Table().average_backward(plane_, dy + i * Out(), sums->data(), dx + i * In());
      }
    });
  }

 private:
  static const PoolingFunctions<T, Tap>& Table() {
    if constexpr (sizeof(T) == 4 && sizeof(Tap) == 1) {
      return PoolingTable().fp32;
    } else if constexpr (sizeof(T) == 4) {
      return PoolingTable().fp32_large;
    } else if constexpr (sizeof(Tap) == 1) {
      return PoolingTable().bf16;
    } else {
      return PoolingTable().bf16_large;
    }
  }

  int64_t In() const { return plane_.height * plane_.width * plane_.block; }
  int64_t Out() const { return plane_.out_height * plane_.out_width * plane_.block; }

  template <typename Body>
  void Planes(const Body& body) {
    ParallelFor(view_.n * view_.blocks, 1, [&](int64_t begin, int64_t end) {
      std::vector<float> sums;
      for (int64_t i = begin; i < end; ++i) body(i, &sums);
    });
  }

  const PoolingLayer& layer_;
  ChannelView view_;
  PoolingPlane plane_;
};

const bool registered = KernelRegistry::Get().Add(
    "cpu/Pooling", [](const Layer& layer, const KernelContext& context) -> std::unique_ptr<Kernel> {
      const auto& pooling = static_cast<const PoolingLayer&>(layer);
      const auto& kernel = pooling.window().kernel;
      const bool small = kernel[0] * kernel[1] <= 256;
      if (kernel[0] * kernel[1] > 65536) pooling.Fail("kernel_size is larger than 256 x 256");
      if (context.compute == DType::kBF16) {
        if (small) return std::make_unique<PoolingKernel<uint16_t, uint8_t>>(pooling, context);
        return std::make_unique<PoolingKernel<uint16_t, uint16_t>>(pooling, context);
      }
      if (small) return std::make_unique<PoolingKernel<float, uint8_t>>(pooling, context);
      return std::make_unique<PoolingKernel<float, uint16_t>>(pooling, context);
    });

}  // namespace
}  // namespace gf
