#include <limits>
#include <type_traits>

#include "comm/quantized/cuda/quantized_kernels.h"
#include "comm/quantized/rotation_inline.h"
#include "core/cuda/launch_inline.h"

namespace gf {
namespace {

// A warp has a block of 256 elements; lane k has elements 8 * k to 8 * k + 7.
constexpr int kLanes = 32, kOwn = kQuantizedBlock / kLanes;
constexpr unsigned kAllLanes = 0xffffffffu;

struct Values {
  float v[kOwn];
};

// --- rotation -------------------------------------------------------------------------

__device__ void Butterflies(Values* x, int lane) {
#pragma unroll
  for (int step = 1; step < kOwn; step *= 2) {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      if ((i & step) != 0) continue;
      const float low = x->v[i], high = x->v[i + step];
      x->v[i] = low + high;
      x->v[i + step] = low - high;
    }
  }
#pragma unroll
  for (int mask = 1; mask < kLanes; mask *= 2) {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const float other = __shfl_xor_sync(kAllLanes, x->v[i], mask);
      x->v[i] = (lane & mask) != 0 ? other - x->v[i] : x->v[i] + other;
    }
  }
#pragma unroll
  for (int i = 0; i < kOwn; ++i) x->v[i] *= 1.f / 16;
}

__device__ void ChangeSigns(Values* x, int64_t begin, int lane) {
  const uint32_t signs = RotationSigns(begin, lane / 4) >> (lane % 4 * kOwn);
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    if ((signs >> i & 1u) != 0) x->v[i] = -x->v[i];
  }
}

__device__ void Rotate(Values* x, int64_t begin, int lane) {
  ChangeSigns(x, begin, lane);
  Butterflies(x, lane);
}

__device__ void Unrotate(Values* x, int64_t begin, int lane) {
  Butterflies(x, lane);
  ChangeSigns(x, begin, lane);
}

// --- pools ----------------------------------------------------------------------------

// Lane's elements of a block at p, 0 behind the block's end. Blocks begin at multiples of 32.
template <typename T>
__device__ Values LoadValues(const T* p, int count, int lane) {
  Values x;
  const int first = lane * kOwn;
  if (first + kOwn <= count) {
    const Floats<4> low = LoadFloats<4>(p + first), high = LoadFloats<4>(p + first + 4);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      x.v[i] = low.v[i];
      x.v[i + 4] = high.v[i];
    }
    return x;
  }
#pragma unroll
  for (int i = 0; i < kOwn; ++i) x.v[i] = first + i < count ? ToFloat(p[first + i]) : 0.f;
  return x;
}

template <typename T>
__device__ void StoreValues(T* p, const Values& x, int count, int lane) {
  const int first = lane * kOwn;
  if (first + kOwn <= count) {
    Floats<4> low, high;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      low.v[i] = x.v[i];
      high.v[i] = x.v[i + 4];
    }
    StoreFloats(p + first, low);
    StoreFloats(p + first + 4, high);
    return;
  }
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    if (first + i < count) p[first + i] = FromFloat<T>(x.v[i]);
  }
}

__device__ float Kept(float rest) { return fabsf(rest) < kLeastKept ? 0.f : rest; }

// --- codes ----------------------------------------------------------------------------

// A block in a part of the memory.
struct Message {
  float* scale;
  uint32_t* codes;
};

// `part`: one of the 2 * world.
__device__ Message MessageAt(const GpuQuantized& q, int64_t part, int64_t block) {
  uint32_t* const words = q.messages + part * q.part_words;
  return {reinterpret_cast<float*>(words) + block,
          words + q.part_blocks + block * (kQuantizedBlock * q.bits / 32)};
}

__device__ float LargestOfWarp(const Values& x) {
  uint32_t largest = 0;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const uint32_t bits = __float_as_uint(x.v[i]) & 0x7fffffffu;
    largest = bits > largest ? bits : largest;
  }
#pragma unroll
  for (int mask = 1; mask < kLanes; mask *= 2) {
    const uint32_t other = __shfl_xor_sync(kAllLanes, largest, mask);
    largest = other > largest ? other : largest;
  }
  return __uint_as_float(largest);
}

template <int kBits>
__device__ void StoreCodes(uint32_t* codes, uint32_t low, uint32_t high, int lane) {
  if constexpr (kBits == 8) {
    codes[2 * lane] = low;
    codes[2 * lane + 1] = high;
  } else {
    // The upper half of the warp has the high halves of the lower one's bytes.
    const uint32_t other_low = __shfl_xor_sync(kAllLanes, low, 16);
    const uint32_t other_high = __shfl_xor_sync(kAllLanes, high, 16);
    if (lane >= 16) return;
    codes[2 * lane] = low | other_low << 4;
    codes[2 * lane + 1] = high | other_high << 4;
  }
}

// Writes scale and codes of x, and returns the scale.
template <int kBits>
__device__ float EncodeValues(const Values& x, const Message& to, int lane) {
  constexpr float kLevels = (1 << (kBits - 1)) - 1;
  constexpr uint32_t kMask = (1u << kBits) - 1;
  const float largest = LargestOfWarp(x);
  float scale = 0, inverse = 0;
  if (!isfinite(largest)) {
    scale = std::numeric_limits<float>::quiet_NaN();
  } else if (largest >= kLeastKept) {
    scale = largest / kLevels;
    inverse = kLevels / largest;
  }
  uint32_t words[2] = {};
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const int code = inverse == 0 ? 0 : static_cast<int>(rintf(x.v[i] * inverse));
    words[i / 4] |= (static_cast<uint32_t>(code) & kMask) << (i % 4 * 8);
  }
  if (lane == 0) *to.scale = scale;
  StoreCodes<kBits>(to.codes, words[0], words[1], lane);
  return scale;
}

// scale * codes
template <int kBits>
__device__ Values DecodeValues(float scale, const uint32_t* codes, int lane) {
  const int from = kBits == 8 ? lane : lane % 16;
  const uint32_t words[2] = {codes[2 * from], codes[2 * from + 1]};
  // The code's bits go to the top, and back with its sign.
  const int top = kBits == 8 || lane >= 16 ? 24 : 28;
  Values y;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const uint32_t byte = words[i / 4] >> (i % 4 * 8);
    const int code = static_cast<int>(byte << top) >> (32 - kBits);
    y.v[i] = __fmul_rn(scale, static_cast<float>(code));
  }
  return y;
}

// The sum of all ranks' values of a block of this rank's part.
template <int kBits>
__device__ Values SumOfRanks(const GpuQuantized& q, int64_t block, int lane) {
  Values sum = {};
#pragma unroll 1
  for (int rank = 0; rank < q.world; ++rank) {
    const Message from = MessageAt(q, q.world + rank, block);
    const Values y = DecodeValues<kBits>(*from.scale, from.codes, lane);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) sum.v[i] += y.v[i];
  }
  return sum;
}

// --- kernels --------------------------------------------------------------------------

// body(block, lane) for the blocks of this warp.
template <typename Body>
__device__ void ForBlocks(int64_t count, const Body& body) {
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const int64_t warps = int64_t{gridDim.x} * (blockDim.x / kLanes);
  int64_t block = int64_t{blockIdx.x} * (blockDim.x / kLanes) + threadIdx.x / kLanes;
#pragma unroll 1
  for (; block < count; block += warps) body(block, lane);
}

template <typename G, int kBits>
__global__ void __launch_bounds__(kThreads) EncodeKernel(GpuQuantized q) {
  ForBlocks(q.part_blocks * q.world, [&](int64_t b, int lane) {
    const int64_t owner = b / q.part_blocks;
    const Message to =
        MessageAt(q, owner == q.rank ? q.world + owner : owner, b - owner * q.part_blocks);
    if (b >= q.block_count) {
      EncodeValues<kBits>(Values{}, to, lane);
      return;
    }
    const QuantizedBlock block = q.blocks[b];
    const bool rotates = q.rotate && block.full != 0;
    float* const residual = q.residual + block.begin;
    Values x = LoadValues(static_cast<const G*>(q.gradients) + block.begin, block.count, lane);
    const Values kept = LoadValues(residual, block.count, lane);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) x.v[i] += kept.v[i];
    if (rotates) Rotate(&x, block.begin, lane);
    const float scale = EncodeValues<kBits>(x, to, lane);
    if (isnan(scale)) {
      Values finite;
#pragma unroll
      for (int i = 0; i < kOwn; ++i) finite.v[i] = isfinite(kept.v[i]) ? kept.v[i] : 0.f;
      StoreValues(residual, finite, block.count, lane);
      return;
    }
    __syncwarp();
    const Values y = DecodeValues<kBits>(scale, to.codes, lane);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) x.v[i] -= y.v[i];
    if (rotates) Unrotate(&x, block.begin, lane);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) x.v[i] = Kept(x.v[i]);
    StoreValues(residual, x, block.count, lane);
  });
}

template <int kBits>
__global__ void __launch_bounds__(kThreads) SumKernel(GpuQuantized q) {
  ForBlocks(q.part_blocks, [&](int64_t b, int lane) {
    EncodeValues<kBits>(SumOfRanks<kBits>(q, b, lane), MessageAt(q, q.rank, b), lane);
  });
}

template <typename G, int kBits>
__global__ void __launch_bounds__(kThreads) DecodeKernel(GpuQuantized q) {
  ForBlocks(q.block_count, [&](int64_t b, int lane) {
    const QuantizedBlock block = q.blocks[b];
    const bool rotates = q.rotate && block.full != 0;
    const int64_t owner = b / q.part_blocks, in_part = b - owner * q.part_blocks;
    const Message sum = MessageAt(q, owner, in_part);
    Values y = DecodeValues<kBits>(*sum.scale, sum.codes, lane);
    if (owner == q.rank && !isnan(*sum.scale)) {
      Values rest = SumOfRanks<kBits>(q, in_part, lane);
#pragma unroll
      for (int i = 0; i < kOwn; ++i) rest.v[i] -= y.v[i];
      if (rotates) Unrotate(&rest, block.begin, lane);
      float* const residual = q.residual + block.begin;
      Values kept = LoadValues(residual, block.count, lane);
#pragma unroll
      for (int i = 0; i < kOwn; ++i) kept.v[i] = Kept(kept.v[i] + rest.v[i]);
      StoreValues(residual, kept, block.count, lane);
    }
    if (rotates) Unrotate(&y, block.begin, lane);
    StoreValues(static_cast<G*>(q.gradients) + block.begin, y, block.count, lane);
  });
}

int BlocksForWarps(int64_t warps) { return BlocksFor(warps * kLanes); }

// f(bits) with a constant.
template <typename F>
void WithBits(int bits, const F& f) {
  if (bits == 8) return f(std::integral_constant<int, 8>());
  f(std::integral_constant<int, 4>());
}

}  // namespace

void EncodeQuantized(const GpuQuantized& q, cudaStream_t stream) {
  WithType(q.gradient_type, [&](auto g) {
    WithBits(q.bits, [&](auto bits) {
      Launch({BlocksForWarps(q.part_blocks * q.world), kThreads, stream},
             EncodeKernel<decltype(g), decltype(bits)::value>, q);
    });
  });
}

void SumQuantized(const GpuQuantized& q, cudaStream_t stream) {
  WithBits(q.bits, [&](auto bits) {
    Launch({BlocksForWarps(q.part_blocks), kThreads, stream}, SumKernel<decltype(bits)::value>, q);
  });
}

void DecodeQuantized(const GpuQuantized& q, cudaStream_t stream) {
  WithType(q.gradient_type, [&](auto g) {
    WithBits(q.bits, [&](auto bits) {
      Launch({BlocksForWarps(q.block_count), kThreads, stream},
             DecodeKernel<decltype(g), decltype(bits)::value>, q);
    });
  });
}

}  // namespace gf
