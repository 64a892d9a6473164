#include "layers/batch_norm.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "core/cpu/channel_view.h"
#include "layers/cpu/batch_norm_kernels.h"
#include "layers/cpu/channel_passes.h"
#include "layers/kernel.h"

namespace gf {
namespace {

// Note [Batch norm passes]
// Work is split into (block of channels) x (part of the images). A thread computes the statistics
// of its channels and normalizes them at once, while they are in its cache. The images are split
// only if there are fewer blocks than threads; the two passes are then separate. Backward works the
// same way with two sums. The passes read and write:
//   forward:  x | x, (add) -> y
//   backward: x, dy, (dy2), (y) -> (dz) | x, dy or dz -> dx
// The gradient of the fused ReLU is recomputed from x, so y is not read. With a residual, whose
// value is not available, the gradient comes from y instead, and dz is stored for the second pass;
// dz is then also the gradient of the residual. Large results of forward bypass the cache. In a
// group, the ranks add up their sums between the two passes.
template <typename T>
class BatchNormKernel : public Kernel {
 public:
  BatchNormKernel(const BatchNormLayer& layer, const KernelContext& context)
      : layer_(layer), group_(layer.global_statistics() ? nullptr : context.batch_norm_group) {}

  void Setup(KernelSetup* setup) override {
    if (!GetChannelView(setup->bottoms[0], &view_) || !Supported(view_.block)) {
      setup->bottoms[0].layout = Layout();
      GetChannelView(setup->bottoms[0], &view_);
    }
    for (TensorDesc& bottom : setup->bottoms) bottom.layout = setup->bottoms[0].layout;
    setup->tops[0].layout = setup->bottoms[0].layout;
    constexpr size_t kMuch = size_t{8} << 20;  // more than stays in the cache anyway
    stream_ = view_.block == 16 && setup->tops[0].bytes() >= kMuch;
    const int64_t channels = view_.padded_channels();
    for (auto* values : {&gamma_, &scale_, &offset_, &mean_, &inverse_std_, &a_, &b_, &c_}) {
      values->assign(channels, 0);
    }
    if (!setup->backward) {
      setup->in_place = true;
      return;
    }
    setup->needs_bottom[0] = true;
    setup->needs_top[0] = layer_.relu() && layer_.add();
    // With a residual, dy becomes dz in place and dx overwrites x: memory that was just read is
    // faster to write.
    setup->in_place_backward = true;
    if (layer_.add() && setup->propagate[1]) {
      setup->in_place_backward_bottom = 1;
      setup->gradient_over_bottom = true;
    }
    setup->max_top_diffs = 2;
  }

  void Forward(const KernelArgs& args) override {
    const T* x = static_cast<const T*>(args.bottoms[0]);
    LoadGamma(args);
    if (layer_.global_statistics()) {
      for (int64_t c = 0; c < view_.channels; ++c) {
        mean_[c] = args.states[0][c];
        inverse_std_[c] = 1 / std::sqrt(args.states[1][c] + layer_.eps());
      }
      for (int64_t b = 0; b < view_.blocks; ++b) SetScale(args, b);
      ChannelPasses::Pass(
          view_, [&](int64_t b, int64_t begin, int64_t end) { Apply(args, b, begin, end); });
      return;
    }
    passes_.WithSums(
        view_, group_ != nullptr,
        [&](int64_t b, int64_t begin, int64_t end, double* sums) {
          Table().statistics(Slice(end - begin), x + At(b, begin), Shift(args, b).data(), sums,
                             sums + view_.block);
        },
        [&](int64_t b, const double*, const double* sums) {
          Statistics(args, b, Shift(args, b).data(), sums);
          SetScale(args, b);
        },
        [&](int64_t b, int64_t begin, int64_t end, double*) { Apply(args, b, begin, end); },
        [&](double* sums) { AddGroupMoments(args, sums); });
  }

  void Backward(const KernelArgs& args) override {
    const auto& diffs = args.top_diffs[0];
    T* dy = static_cast<T*>(diffs[0]);
    const T* dy2 = diffs.size() > 1 ? static_cast<T*>(diffs[1]) : nullptr;
    const T* x = static_cast<const T*>(args.bottoms[0]);
    const T* y = static_cast<const T*>(args.tops[0]);
    T* dx = static_cast<T*>(args.bottom_diffs[0]);
    T* residual = layer_.add() ? static_cast<T*>(args.bottom_diffs[1]) : nullptr;
    T* dz = residual;
    if (dz == nullptr && (dy2 != nullptr || (layer_.add() && layer_.relu()))) dz = dy;
    ReluGradient relu = ReluGradient::kNone;
    if (layer_.relu()) relu = layer_.add() ? ReluGradient::kFromOutput : ReluGradient::kFromInput;

    passes_.WithSums(
        view_, group_ != nullptr,
        [&](int64_t b, int64_t begin, int64_t end, double* sums) {
          const int64_t at = At(b, begin), channel = b * view_.block;
          Table().backward_reduce(Slice(end - begin), x + at, y ? y + at : nullptr, dy + at,
                                  dy2 ? dy2 + at : nullptr, dz ? dz + at : nullptr,
                                  &scale_[channel], &offset_[channel], &mean_[channel], relu, sums,
                                  sums + view_.block);
        },
        [&](int64_t b, const double* own, const double* sums) {
          ParameterGradients(args, b, own);
          Slopes(b, sums);
        },
        [&](int64_t b, int64_t begin, int64_t end, double*) {
          if (dx == nullptr) return;
          const int64_t at = At(b, begin), channel = b * view_.block;
          Table().backward_apply(Slice(end - begin), x + at, (dz ? dz : dy) + at, dx + at,
                                 &scale_[channel], &offset_[channel],
                                 dz == nullptr && layer_.relu(), &a_[channel], &b_[channel],
                                 &c_[channel]);
        },
        [&](double* sums) { group_->Sum(sums, view_.blocks * 2 * view_.block); });
  }

  bool CanRecompute() const override { return !layer_.add(); }

  // scale_ and offset_ still hold the values of the last Forward.
  void Recompute(const KernelArgs& args) override {
    ChannelPasses::Pass(view_,
                        [&](int64_t b, int64_t begin, int64_t end) { Apply(args, b, begin, end); });
  }

 private:
  static bool Supported(int64_t block) { return block == 1 || block == 8 || block == 16; }

  static const BatchNormFunctions<T>& Table() {
    if constexpr (sizeof(T) == 4) {
      return BatchNormTable().fp32;
    } else {
      return BatchNormTable().bf16;
    }
  }

  int64_t At(int64_t b, int64_t image) const {
    return (image * view_.blocks + b) * view_.spatial * view_.block;
  }
  BatchNormSlice Slice(int64_t n) const {
    return {n, view_.blocks * view_.spatial * view_.block, view_.spatial,
            static_cast<int>(view_.block)};
  }

  void LoadGamma(const KernelArgs& args) {
    for (int64_t c = 0; c < view_.channels; ++c) gamma_[c] = layer_.scale() ? args.master[0][c] : 1;
  }

  // The channel's first pixel, as a value near its mean: sums of squares around it do not suffer
  // from cancellation.
  std::vector<float> Shift(const KernelArgs& args, int64_t b) const {
    const T* x = static_cast<const T*>(args.bottoms[0]) + At(b, 0);
    std::vector<float> shift(view_.block);
    for (int64_t l = 0; l < view_.block; ++l) {
      if constexpr (sizeof(T) == 4) {
        shift[l] = x[l];
      } else {
        shift[l] = FromBF16(x[l]);
      }
    }
    return shift;
  }

  double OwnCount() const { return static_cast<double>(view_.n) * view_.spatial; }
  // Values per channel in the whole group; all ranks have batches of equal size.
  double Count() const { return OwnCount() * (group_ == nullptr ? 1 : group_->size()); }

  // Replaces the sums of all channels on this rank by the sums over the group. Both are relative to
  // this rank's shifts.
  void AddGroupMoments(const KernelArgs& args, double* sums) {
    const int64_t width = 2 * view_.block;
    std::vector<double> moments(view_.blocks * width);  // means of x and of x^2
    for (int64_t b = 0; b < view_.blocks; ++b) {
      const std::vector<float> shift = Shift(args, b);
      for (int64_t l = 0; l < view_.block; ++l) {
        const double *s = sums + b * width + l, delta = s[0] / OwnCount();
        const double mean = shift[l] + delta;
        moments[b * width + l] = mean;
        moments[b * width + view_.block + l] =
            s[view_.block] / OwnCount() - delta * delta + mean * mean;
      }
    }
    group_->Sum(moments.data(), static_cast<int64_t>(moments.size()));
    for (int64_t b = 0; b < view_.blocks; ++b) {
      const std::vector<float> shift = Shift(args, b);
      for (int64_t l = 0; l < view_.block; ++l) {
        const double mean = moments[b * width + l] / group_->size();
        const double square = moments[b * width + view_.block + l] / group_->size();
        const double delta = mean - shift[l];
        sums[b * width + l] = delta * Count();
        sums[b * width + view_.block + l] = (square - mean * mean + delta * delta) * Count();
      }
    }
  }

  // Sets mean and variance of block b's channels and updates the running statistics.
  void Statistics(const KernelArgs& args, int64_t b, const float* shift, const double* sums) {
    const double count = Count(), f = layer_.fraction();
    for (int64_t l = 0; l < view_.block; ++l) {
      const int64_t c = b * view_.block + l;
      if (c >= view_.channels) break;
      const double delta = sums[l] / count;
      const double mean = shift[l] + delta;
      const double variance = std::max(0.0, sums[view_.block + l] / count - delta * delta);
      mean_[c] = static_cast<float>(mean);
      inverse_std_[c] = static_cast<float>(1 / std::sqrt(variance + layer_.eps()));
      float* running = args.states[0];
      running[c] = static_cast<float>(f * running[c] + (1 - f) * mean);
      running = args.states[1];
      running[c] = static_cast<float>(f * running[c] + (1 - f) * variance * count / (count - 1));
    }
  }

  void SetScale(const KernelArgs& args, int64_t b) {
    for (int64_t c = b * view_.block; c < std::min((b + 1) * view_.block, view_.channels); ++c) {
      const float beta = layer_.scale_bias() ? args.master[1][c] : 0.f;
      scale_[c] = gamma_[c] * inverse_std_[c];
      offset_[c] = beta - mean_[c] * scale_[c];
    }
  }

  void Apply(const KernelArgs& args, int64_t b, int64_t begin, int64_t end) {
    const int64_t at = At(b, begin), channel = b * view_.block;
    const T* add = layer_.add() ? static_cast<const T*>(args.bottoms[1]) + at : nullptr;
    Table().apply(Slice(end - begin), static_cast<const T*>(args.bottoms[0]) + at, add,
                  static_cast<T*>(args.tops[0]) + at, &scale_[channel], &offset_[channel],
                  layer_.relu(), stream_);
  }

  // Sets the gradients of gamma and beta from this rank's sums. Gradients of a group are summed
  // like all other gradients.
  void ParameterGradients(const KernelArgs& args, int64_t b, const double* own) {
    if (!layer_.scale()) return;
    for (int64_t l = 0; l < view_.block; ++l) {
      const int64_t c = b * view_.block + l;
      if (c >= view_.channels) break;
      StoreOne(args.parameter_diffs[0], c, own[view_.block + l] * inverse_std_[c]);
      if (layer_.scale_bias()) StoreOne(args.parameter_diffs[1], c, own[l]);
    }
  }

  // dx = a * dz + b * x + c (Ioffe and Szegedy, section 3):
  //   dx = gamma / std * (dz - mean(dz) - xhat * mean(dz * xhat)).
  void Slopes(int64_t b, const double* sums) {
    for (int64_t l = 0; l < view_.block; ++l) {
      const int64_t c = b * view_.block + l;
      if (c >= view_.channels) break;
      const double sum = sums[l], product = sums[view_.block + l] * inverse_std_[c];
      const double k = double{gamma_[c]} * inverse_std_[c];
      if (layer_.global_statistics()) {
        a_[c] = static_cast<float>(k);
        continue;
      }
      const double slope = -k * inverse_std_[c] * product / Count();
      a_[c] = static_cast<float>(k);
      b_[c] = static_cast<float>(slope);
      c_[c] = static_cast<float>(-slope * mean_[c] - k * sum / Count());
    }
  }

  static void StoreOne(void* pool, int64_t c, double value) {
    if constexpr (sizeof(T) == 4) {
      static_cast<float*>(pool)[c] = static_cast<float>(value);
    } else {
      static_cast<uint16_t*>(pool)[c] = ToBF16(static_cast<float>(value));
    }
  }

  const BatchNormLayer& layer_;
  GroupSum* const group_;
  ChannelView view_;
  bool stream_ = false;
  // One value per channel, padded with zeros to whole blocks, so that the padding of results stays
  // zero.
  std::vector<float> gamma_, scale_, offset_, mean_, inverse_std_, a_, b_, c_;
  ChannelPasses passes_;
};

const bool registered = KernelRegistry::Get().Add(
    "cpu/BatchNorm",
    [](const Layer& layer, const KernelContext& context) -> std::unique_ptr<Kernel> {
      const auto& norm = static_cast<const BatchNormLayer&>(layer);
      if (context.compute == DType::kBF16) {
        return std::make_unique<BatchNormKernel<uint16_t>>(norm, context);
      }
      return std::make_unique<BatchNormKernel<float>>(norm, context);
    });

}  // namespace
}  // namespace gf
