#include "comm/sparse/chunk_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "comm/feedback/feedback_arithmetic.h"
#include "comm/sparse/kernels.h"
#include "comm/wire/wire.h"
#include "core/parallel.h"

namespace gf {
namespace {

class CpuChunkArithmetic : public ChunkArithmetic {
 public:
  CpuChunkArithmetic(const ChunkGrid& grid, const ChunkPools& pools, const ChunkFactors& factors)
      : grid_(grid),
        pools_(pools),
        factors_(factors),
        kernels_(ForTypes(Sparse(), pools.gradients.desc.dtype, pools.packed.desc.dtype)),
        set_(ChunkSet::All(grid)),
        sums_(grid.chunks()) {}

  void Begin(const ChunkSet& important) override {
    set_ = important;
    std::fill(sums_.begin(), sums_.end(), 0.0);
  }

  void Merge(const ElementRange& range) override {
    ForChunks(range, [&](int64_t, int64_t begin, int64_t end) {
      kernels_.merge(Gradient(begin), Residual(begin), end - begin);
    });
  }

  void KeepOrPack(const ElementRange& range) override {
    ForChunks(range, [&](int64_t chunk, int64_t begin, int64_t end) {
      if (set_.Contains(chunk)) {
        return kernels_.pack(Gradient(begin), Residual(begin), Packed(begin), end - begin);
      }
      const double norm =
          kernels_.keep(Gradient(begin), Residual(begin), end - begin, factors_.momentum);
      sums_[chunk] += norm;
      if (!std::isfinite(norm)) std::fill(Residual(begin), Residual(end), 0.f);
    });
  }

  void Unpack(const ElementRange& range) override {
    ForChunks(range, [&](int64_t chunk, int64_t begin, int64_t end) {
      if (!set_.Contains(chunk)) return;
      sums_[chunk] += kernels_.unpack(Packed(begin), Gradient(begin), end - begin) / factors_.world;
    });
  }

  void AddNorms(const ElementRange& range) override {
    ForChunks(range, [&](int64_t chunk, int64_t begin, int64_t end) {
      sums_[chunk] += kernels_.norm(Gradient(begin), end - begin) / factors_.world;
    });
  }

  void StoreNorms() override {
    for (int64_t c = 0; c < grid_.chunks(); ++c) {
      pools_.norms.as<float>()[c] = static_cast<float>(sums_[c]);
    }
  }

  void Rescale(float factor) override { ScaleResidual(Residual(0), grid_.count(), factor); }

 private:
  char* Gradient(int64_t element) const { return At(pools_.gradients, element); }
  char* Packed(int64_t element) const { return At(pools_.packed, set_.PackedOffset(element)); }
  float* Residual(int64_t element) const { return pools_.residual.as<float>() + element; }
  static char* At(const Tensor& pool, int64_t element) {
    return pool.as<char>() + element * SizeOf(pool.desc.dtype);
  }

  // body(chunk, begin, end) for the pieces of a range of the pool that lie in one chunk each, in
  // parallel; a chunk is one thread's.
  template <typename Body>
  void ForChunks(const ElementRange& range, const Body& body) const {
    if (range.begin >= range.end) return;
    const int64_t first = grid_.ChunkOf(range.begin), last = grid_.ChunkOf(range.end - 1);
    ParallelFor(last - first + 1, 1, [&](int64_t from, int64_t to) {
      for (int64_t chunk = first + from; chunk < first + to; ++chunk) {
        body(chunk, std::max(range.begin, grid_.Begin(chunk)),
             std::min(range.end, grid_.End(chunk)));
      }
    });
  }

  const ChunkGrid grid_;
  const ChunkPools pools_;
  const ChunkFactors factors_;
  const SparseFunctions& kernels_;
  ChunkSet set_;
  std::vector<double> sums_;  // of magnitudes, by chunk
};

const bool registered = ChunkArithmeticRegistry::Get().Add(
    "cpu",
    [](Device*, const ChunkGrid& grid, const ChunkPools& pools,
       const ChunkFactors& factors) -> std::unique_ptr<ChunkArithmetic> {
      return std::make_unique<CpuChunkArithmetic>(grid, pools, factors);
    });

}  // namespace
}  // namespace gf
