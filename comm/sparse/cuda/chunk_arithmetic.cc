#include "comm/sparse/chunk_arithmetic.h"

#include <algorithm>

#include "comm/feedback/cuda/feedback_kernels.h"
#include "comm/sparse/cuda/chunk_kernels.h"
#include "core/cuda/cuda_device.h"
#include "core/cuda/error.h"

namespace gf {
namespace {

class CudaChunkArithmetic : public ChunkArithmetic {
 public:
  CudaChunkArithmetic(Device* device, const ChunkGrid& grid, const ChunkPools& pools,
                      const ChunkFactors& factors)
      : device_(device),
        grid_(grid),
        pools_(pools),
        places_(device->Allocate(grid.chunks() * sizeof(int64_t))),
        host_places_(AllocatePinned(grid.chunks() * sizeof(int64_t))),
        sums_(device->Allocate(grid.chunks() * sizeof(double))) {
    arrays_.gradient_type = pools.gradients.desc.dtype;
    arrays_.packed_type = pools.packed.desc.dtype;
    arrays_.gradients = pools.gradients.data;
    arrays_.residual = pools.residual.as<float>();
    arrays_.packed = pools.packed.data;
    arrays_.places = static_cast<const int64_t*>(places_.get());
    arrays_.sums = static_cast<double*>(sums_.get());
    arrays_.chunk_size = grid.chunk_size();
    arrays_.momentum = factors.momentum;
    arrays_.world = factors.world;
    copied_.Record(stream());
    Begin(ChunkSet::All(grid));
  }

  void Begin(const ChunkSet& important) override {
    copied_.Wait();  // the copy of the step before
    auto* const places = static_cast<int64_t*>(host_places_.get());
    std::fill_n(places, grid_.chunks(), int64_t{-1});
    for (const int64_t id : important.ids()) {
      places[id] = important.PackedOffset(grid_.Begin(id));
    }
    GF_CUDA(cudaMemcpyAsync(places_.get(), places, grid_.chunks() * sizeof(int64_t),
                            cudaMemcpyHostToDevice, stream()));
    copied_.Record(stream());
    device_->Zero(sums_.get(), grid_.chunks() * sizeof(double), device_->compute_stream());
  }

  void Merge(const ElementRange& range) override { MergeResidual(arrays_, Span(range), stream()); }
  void KeepOrPack(const ElementRange& range) override {
    KeepOrPackChunks(arrays_, Span(range), stream());
  }
  void Unpack(const ElementRange& range) override { UnpackChunks(arrays_, Span(range), stream()); }
  void AddNorms(const ElementRange& range) override {
    AddChunkNorms(arrays_, Span(range), stream());
  }
  void StoreNorms() override {
    RoundNorms(arrays_.sums, grid_.chunks(), pools_.norms.as<float>(), stream());
  }
  void Rescale(float factor) override {
    RescaleResidual(arrays_.residual, grid_.count(), factor, stream());
  }

 private:
  static ChunkSpan Span(const ElementRange& range) { return {range.begin, range.end}; }
  cudaStream_t stream() const { return RawStream(device_->compute_stream()); }

  Device* const device_;
  const ChunkGrid grid_;
  const ChunkPools pools_;
  const std::shared_ptr<void> places_, host_places_, sums_;
  CudaEvent copied_;
  ChunkArrays arrays_;
};

const bool registered = ChunkArithmeticRegistry::Get().Add(
    "cuda",
    [](Device* device, const ChunkGrid& grid, const ChunkPools& pools,
       const ChunkFactors& factors) -> std::unique_ptr<ChunkArithmetic> {
      return std::make_unique<CudaChunkArithmetic>(device, grid, pools, factors);
    });

}  // namespace
}  // namespace gf
