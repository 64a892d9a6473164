#include "layers/input.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/parallel.h"
#include "layers/cpu/input_kernels.h"
#include "layers/kernel.h"

namespace gf {
namespace {

// Normalizes a batch, converts its type and sets its layout in one pass.
class InputKernel : public Kernel {
 public:
  InputKernel(const InputLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Setup(KernelSetup* setup) override { tops_ = setup->tops; }

  void Forward(const KernelArgs& args) override {
    for (size_t i = 0; i < tops_.size(); ++i) {
      if (layer_.IsImage(static_cast<int>(i))) {
        const Shape& shape = tops_[i].shape;
        Images(*args.batch, shape, args.tops[i]);
        if (context_.compute == DType::kFP32) {
          Mix(args.batch->mix, InputTable().mix_fp32, shape, static_cast<float*>(args.tops[i]));
        } else {
          Mix(args.batch->mix, InputTable().mix_bf16, shape, static_cast<uint16_t*>(args.tops[i]));
        }
      } else if (layer_.IsLabelValues(static_cast<int>(i))) {
        LabelValues(args.batch->label_values, tops_[i], args.tops[i]);
      } else {
        const auto& labels = args.batch->labels;
        std::memset(args.tops[i], 0, tops_[i].bytes());
        CHECK_LE(labels.size(), static_cast<size_t>(tops_[i].shape.count()));
        std::memcpy(args.tops[i], labels.data(), labels.size() * sizeof(int64_t));
      }
    }
  }

 private:
  void Images(const Batch& batch, const Shape& shape, void* top) const {
    CHECK(batch.Fits(shape)) << batch.images.desc.shape.ToString();
    if (batch.images.desc.dtype == DType::kFP32) {
      Tensor to;
      to.desc = {shape, context_.compute, Layout()};
      to.data = top;
      context_.device->Convert(batch.images, to, context_.device->compute_stream());
      return;
    }
    std::vector<float> mean(shape[1], 0), inverse_std(shape[1], 1);
    if (!batch.mean.empty()) mean = batch.mean;
    if (!batch.inverse_std.empty()) inverse_std = batch.inverse_std;
    ParallelFor(shape[0], 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (context_.compute == DType::kFP32) {
          Image(InputTable().fp32, batch, i, shape, mean, inverse_std, static_cast<float*>(top));
        } else {
          Image(InputTable().bf16, batch, i, shape, mean, inverse_std, static_cast<uint16_t*>(top));
        }
      }
    });
  }

  // Numbers of the batch, or zeros for a batch without them.
  void LabelValues(const std::vector<float>& values, const TensorDesc& desc, void* top) const {
    if (values.empty()) {
      std::memset(top, 0, desc.bytes());
      return;
    }
    CHECK_EQ(static_cast<int64_t>(values.size()), desc.shape.count());
    Tensor from;
    from.desc = {desc.shape, DType::kFP32, Layout()};
    from.data = const_cast<float*>(values.data());
    context_.device->Convert(from, {desc, top, nullptr}, context_.device->compute_stream());
  }

  // Mixes the images of a batch in place: one row of all images after the other.
  template <typename MixRow, typename T>
  static void Mix(const BatchMix& mix, const MixRow& mix_row, const Shape& shape, T* images) {
    if (!mix.any()) return;
    CHECK(mix.Fits(shape)) << shape.ToString();
    const int64_t image = shape.count(1, 4);
    ParallelFor(shape[1] * mix.height, 1, [&](int64_t begin, int64_t end) {
      std::vector<T> last(mix.width);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i / mix.height * shape[2] + mix.top + i % mix.height;
        T* const first = images + row * shape[3] + mix.left;
        std::copy_n(first + (shape[0] - 1) * image, mix.width, last.begin());
        for (int64_t n = shape[0] - 1; n > 0; --n) {
          mix_row(first + n * image, first + (n - 1) * image, mix.width, mix.pixel_share);
        }
        mix_row(first, last.data(), mix.width, mix.pixel_share);
      }
    });
  }

  // Writes image i of the batch to its place in `top`.
  template <typename Normalize, typename T>
  static void Image(const Normalize& normalize, const Batch& batch, int64_t i, const Shape& shape,
                    const std::vector<float>& mean, const std::vector<float>& inverse_std, T* top) {
    const int channels = static_cast<int>(shape[1]);
    const int64_t plane = shape[2] * shape[3];
    const Shape& own = batch.images.desc.shape;
    const uint8_t* const from = Pixels(batch, i);
    T* const to = top + i * channels * plane;
    if (batch.cuts.empty()) {
      return normalize(from, plane, channels, false, mean.data(), inverse_std.data(), plane, to);
    }
    const ImageCut& cut = batch.cuts[i];
    const bool reflected = cut.reflected != 0;
    // The columns of the cut that lie inside the image. If some lie outside, each row is assembled
    // first.
    const int64_t begin = std::clamp<int64_t>(-cut.left, 0, shape[3]);
    const int64_t end = std::clamp<int64_t>(own[3] - cut.left, begin, shape[3]);
    std::vector<uint8_t> padded(begin > 0 || end < shape[3] ? shape[3] * channels : 0);
    const std::vector<uint8_t> zeros(shape[3] * channels);
    for (int64_t y = 0; y < shape[2]; ++y) {
      const int64_t line = reflected ? ReflectedPixel(cut.top + y, own[2]) : cut.top + y;
      const uint8_t* row = zeros.data();
      if (line >= 0 && line < own[2]) {
        const uint8_t* const pixels = from + line * own[3] * channels;
        row = pixels + (cut.left + begin) * channels;
        if (!padded.empty()) {
          std::copy(row, row + (end - begin) * channels, padded.begin() + begin * channels);
          for (int64_t x = 0; reflected && x < shape[3]; ++x) {
            if (x >= begin && x < end) continue;
            const int64_t column = ReflectedPixel(cut.left + x, own[3]);
            std::copy_n(pixels + column * channels, channels, padded.begin() + x * channels);
          }
          row = padded.data();
        }
      }
      normalize(row, shape[3], channels, cut.mirrored != 0, mean.data(), inverse_std.data(), plane,
                to + y * shape[3]);
    }
  }

  // The pixels of the whole image i; see Note [Images kept on the device].
  static const uint8_t* Pixels(const Batch& batch, int64_t i) {
    const int64_t bytes = batch.images.desc.shape.count(1, 4);
    const uint8_t* const sent = batch.images.as<const uint8_t>() + i * bytes;
    if (!batch.kept.any() || batch.kept.places[i] < 0) return sent;
    uint8_t* const kept = batch.kept.At(batch.kept.places[i]);
    if (!batch.kept.there[i]) std::memcpy(kept, sent, bytes);
    return kept;
  }

  const InputLayer& layer_;
  KernelContext context_;
  std::vector<TensorDesc> tops_;
};

GF_REGISTER(KernelRegistry, "cpu/Input", KernelOf<InputLayer, InputKernel>);

}  // namespace
}  // namespace gf
