#include "layers/input.h"

#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "core/parallel.h"
#include "layers/cuda/input_kernels.h"
#include "layers/cuda/kernel_context.h"

namespace gf {
namespace {

// Note [Batches on their way]
// The parts of a batch that the GPU needs are assembled in page-locked memory. One copy on the copy
// stream sends them while the compute stream still works on the previous step; one kernel reads
// them on the GPU. Assembly and copy happen in Stage if the batch is known early enough, otherwise
// in Forward. Two such buffers alternate. Before a buffer is filled again, the copy from it and the
// kernels that read its GPU side must be complete.
class Staging {
 public:
  explicit Staging(CudaDevice* device) : device_(device) {
    copied_.Record(copy_stream());
    used_.Record(compute_stream());
  }

  // Returns `bytes` bytes on the host side that may be overwritten.
  char* Begin(size_t bytes) {
    copied_.Wait();
    if (bytes > bytes_) {
      used_.Wait();
      host_ = AllocatePinned(bytes);
      gpu_ = device_->Allocate(bytes);
      bytes_ = bytes;
    }
    return static_cast<char*>(host_.get());
  }
  // The GPU side.
  const char* gpu() const { return static_cast<const char*>(gpu_.get()); }
  // Copies the written bytes to the GPU side.
  void Send(size_t bytes) {
    GF_CUDA(cudaStreamWaitEvent(copy_stream(), used_.get(), 0));
    GF_CUDA(cudaMemcpyAsync(gpu_.get(), host_.get(), bytes, cudaMemcpyHostToDevice, copy_stream()));
    copied_.Record(copy_stream());
  }
  // Work enqueued on the compute stream from now on sees the copied bytes.
  void Receive() { GF_CUDA(cudaStreamWaitEvent(compute_stream(), copied_.get(), 0)); }
  // Call after enqueuing the work that reads the bytes.
  void End() { used_.Record(compute_stream()); }

 private:
  cudaStream_t copy_stream() const { return device_->context().copy_stream()->get(); }
  cudaStream_t compute_stream() const { return device_->context().compute_stream()->get(); }

  CudaDevice* const device_;
  size_t bytes_ = 0;
  std::shared_ptr<void> host_, gpu_;
  CudaEvent copied_, used_;
};

size_t Aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

class InputKernel : public Kernel {
 public:
  InputKernel(const InputLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Setup(KernelSetup* setup) override {
    for (size_t i = 0; i < setup->tops.size(); ++i) {
      TensorDesc& top = setup->tops[i];
      if (layer_.IsImage(static_cast<int>(i))) top.layout = WantedLayout(top.shape);
    }
    tops_ = setup->tops;
    for (auto& staging : staging_) staging = std::make_unique<Staging>(CudaOf(context_));
  }

  void Stage(const Batch& batch) override {
    turn_ = 1 - turn_;
    Staging& staging = *staging_[turn_];
    const std::vector<size_t> offsets = OffsetsOf(batch);
    char* const host = staging.Begin(offsets.back());
    for (size_t i = 0; i < tops_.size(); ++i) {
      if (layer_.IsImage(static_cast<int>(i))) {
        PutImages(batch, tops_[i].shape, staging.gpu() + offsets[i], host + offsets[i]);
      } else if (layer_.IsLabelValues(static_cast<int>(i))) {
        PutLabelValues(batch, tops_[i].shape, host + offsets[i]);
      } else {
        PutLabels(batch, tops_[i], host + offsets[i]);
      }
    }
    staging.Send(offsets.back());
    staged_ = &batch;
  }

  void Forward(const KernelArgs& args) override {
    const Batch& batch = *args.batch;
    if (staged_ != &batch) Stage(batch);
    staged_ = nullptr;
    Staging& staging = *staging_[turn_];
    const std::vector<size_t> offsets = OffsetsOf(batch);
    staging.Receive();
    for (size_t i = 0; i < tops_.size(); ++i) {
      const char* const from = staging.gpu() + offsets[i];
      if (layer_.IsImage(static_cast<int>(i))) {
        TakeImages(batch, from, tops_[i], args.tops[i]);
        if (batch.mix.any()) {
          CHECK(batch.mix.Fits(tops_[i].shape)) << tops_[i].shape.ToString();
          MixImages(batch.mix, tops_[i].shape, context_.compute, args.tops[i], StreamOf(context_));
        }
      } else if (layer_.IsLabelValues(static_cast<int>(i))) {
        TakeFloats(from, tops_[i], args.tops[i]);
      } else {
        CopyOnDevice(context_, from, args.tops[i], tops_[i].bytes());
      }
    }
    staging.End();
  }

 private:
  // Offset of each top's part of a batch, then the end of the last part.
  std::vector<size_t> OffsetsOf(const Batch& batch) const {
    std::vector<size_t> offsets = {0};
    for (size_t i = 0; i < tops_.size(); ++i) {
      const int top = static_cast<int>(i);
      const size_t bytes = layer_.IsImage(top) ? Places(batch).end
                           : layer_.IsLabelValues(top)
                               ? Aligned(tops_[i].shape.count() * sizeof(float))
                               : Aligned(tops_[i].bytes());
      offsets.push_back(offsets.back() + bytes);
    }
    return offsets;
  }

  static void Copy(const void* from, size_t bytes, char* to) {
    ParallelFor(static_cast<int64_t>(bytes), 1 << 20, [&](int64_t begin, int64_t end) {
      std::memcpy(to + begin, static_cast<const char*>(from) + begin, end - begin);
    });
  }

  // Byte offsets of the parts of a batch's images: the pixels that must be sent and, for UINT8, two
  // numbers per channel, the cuts, and the address of each image.
  struct Places {
    explicit Places(const Batch& batch) {
      const Shape& shape = batch.images.desc.shape;
      int64_t sent = shape[0];
      if (batch.kept.any()) sent = std::count(batch.kept.there.begin(), batch.kept.there.end(), 0);
      mean = Aligned(sent * shape.count(1, 4) * SizeOf(batch.images.desc.dtype));
      if (batch.images.desc.dtype == DType::kFP32) {
        end = mean;
        return;
      }
      inverse_std = mean + Aligned(shape[1] * sizeof(float));
      cuts = inverse_std + Aligned(shape[1] * sizeof(float));
      of = cuts + Aligned(batch.cuts.size() * sizeof(ImageCut));
      end = of + Aligned(batch.cuts.size() * sizeof(uint8_t*));
    }

    size_t mean = 0, inverse_std = 0, cuts = 0, of = 0, end = 0;
  };

  // `gpu`: the address of these parts on the GPU.
  static void PutImages(const Batch& batch, const Shape& shape, const char* gpu, char* to) {
    CHECK(batch.Fits(shape)) << batch.images.desc.shape.ToString();
    const Places places(batch);
    if (batch.kept.any()) {
      PutSent(batch, to);
    } else {
      Copy(batch.images.data, batch.images.desc.bytes(), to);
    }
    if (batch.images.desc.dtype == DType::kFP32) return;
    const auto put = [&](const std::vector<float>& values, float fallback, size_t place) {
      float* const out = reinterpret_cast<float*>(to + place);
      std::fill_n(out, shape[1], fallback);
      std::copy(values.begin(), values.end(), out);
    };
    put(batch.mean, 0, places.mean);
    put(batch.inverse_std, 1, places.inverse_std);
    std::copy(batch.cuts.begin(), batch.cuts.end(), reinterpret_cast<ImageCut*>(to + places.cuts));
    PutPlaces(batch, reinterpret_cast<const uint8_t*>(gpu),
              reinterpret_cast<const uint8_t**>(to + places.of));
  }

  // Writes the pixels of images that are not on the device yet.
  static void PutSent(const Batch& batch, char* to) {
    const int64_t bytes = batch.images.desc.shape.count(1, 4);
    std::vector<int64_t> sent;
    for (int64_t i = 0; i < batch.size(); ++i) {
      if (!batch.kept.there[i]) sent.push_back(i);
    }
    const int64_t grain = std::max<int64_t>(1, (1 << 20) / bytes);
    ParallelFor(static_cast<int64_t>(sent.size()), grain, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        std::memcpy(to + k * bytes, batch.images.as<const char>() + sent[k] * bytes, bytes);
      }
    });
  }

  // Writes the addresses of the images to cut. `pixels` is the address of the pixels that are sent.
  static void PutPlaces(const Batch& batch, const uint8_t* pixels, const uint8_t** to) {
    const int64_t bytes = batch.images.desc.shape.count(1, 4);
    for (size_t i = 0; i < batch.cuts.size(); ++i) {
      const bool there = batch.kept.any() && batch.kept.there[i];
      to[i] = there ? batch.kept.At(batch.kept.places[i]) : pixels;
      if (!there) pixels += bytes;
    }
  }

  // Copies images to be kept to their places; neighbors share a copy.
  void Keep(const Batch& batch, const uint8_t* pixels) const {
    const KeptImages& kept = batch.kept;
    if (!kept.any()) return;
    const int64_t bytes = batch.images.desc.shape.count(1, 4), count = batch.size();
    for (int64_t i = 0, end = 0; i < count; i = end) {
      end = i + 1;
      if (kept.there[i]) continue;
      const int64_t place = kept.places[i];
      while (place >= 0 && end < count && !kept.there[end] && kept.places[end] == place + end - i) {
        ++end;
      }
      if (place >= 0) CopyOnDevice(context_, pixels, kept.At(place), (end - i) * bytes);
      pixels += (end - i) * bytes;
    }
  }

  static void PutLabels(const Batch& batch, const TensorDesc& top, char* to) {
    CHECK_LE(batch.labels.size(), static_cast<size_t>(top.shape.count()));
    std::memset(to, 0, top.bytes());
    std::memcpy(to, batch.labels.data(), batch.labels.size() * sizeof(int64_t));
  }

  // Numbers of the batch, or zeros for a batch without them.
  static void PutLabelValues(const Batch& batch, const Shape& shape, char* to) {
    const std::vector<float>& values = batch.label_values;
    if (values.empty()) {
      std::memset(to, 0, shape.count() * sizeof(float));
      return;
    }
    CHECK_EQ(static_cast<int64_t>(values.size()), shape.count());
    Copy(values.data(), values.size() * sizeof(float), to);
  }

  // FP32 in plain order, in GPU memory.
  void TakeFloats(const char* from, const TensorDesc& desc, void* top) const {
    Tensor floats;
    floats.desc = {desc.shape, DType::kFP32, Layout()};
    floats.data = const_cast<char*>(from);
    context_.device->Convert(floats, {desc, top, nullptr}, context_.device->compute_stream());
  }

  void TakeImages(const Batch& batch, const char* from, const TensorDesc& desc, void* top) const {
    const Shape& shape = desc.shape;
    if (batch.images.desc.dtype == DType::kFP32) return TakeFloats(from, desc, top);
    const Places places(batch);
    const Shape& own = batch.images.desc.shape;
    InputImages images;
    images.x = reinterpret_cast<const uint8_t*>(from);
    if (!batch.cuts.empty()) {
      images.cuts = reinterpret_cast<const ImageCut*>(from + places.cuts);
      images.of = reinterpret_cast<const uint8_t* const*>(from + places.of);
      Keep(batch, images.x);
    }
    images.mean = reinterpret_cast<const float*>(from + places.mean);
    images.inverse_std = reinterpret_cast<const float*>(from + places.inverse_std);
    images.height = own[2];
    images.width = own[3];
    images.out_height = shape[2];
    images.out_width = shape[3];
    images.n = shape[0];
    images.channels = static_cast<int>(shape[1]);
    NormalizeImages(images, context_.compute, top, StreamOf(context_));
  }

  const InputLayer& layer_;
  const KernelContext context_;
  std::vector<TensorDesc> tops_;
  std::array<std::unique_ptr<Staging>, 2> staging_;
  int turn_ = 0;                   // buffer of the last staged batch
  const Batch* staged_ = nullptr;  // sent, but not consumed yet
};

GF_REGISTER(KernelRegistry, "cuda/Input", KernelOf<InputLayer, InputKernel>);

}  // namespace
}  // namespace gf
