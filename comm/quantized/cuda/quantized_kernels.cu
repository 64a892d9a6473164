#include <type_traits>

#include "comm/quantized/cuda/quantized_kernels.h"
#include "comm/quantized/rotation_inline.h"
#include "core/cuda/launch_inline.h"

namespace gf {
namespace {

constexpr int kLanes = 32;
constexpr int kWarps = kThreads / kLanes;  // blocks of elements that a block of threads has
constexpr int kHalf = kQuantizedBlock / 2;
constexpr int kOwn = kQuantizedBlock / kLanes;  // elements of a thread
constexpr uint32_t kSign = 0x80000000u, kInfinity = 0x7f800000u, kNan = 0x7fc00000u;

// A thread's elements of a block: four of the lower half, four of the upper.
struct Values {
  float v[kOwn];
};

__device__ int Lane() { return static_cast<int>(threadIdx.x) % kLanes; }
// The number in the block of a thread's element k.
__device__ int ElementOf(int k) { return k / 4 * kHalf + 4 * Lane() + k % 4; }

// What the kernel's warp works on.
struct Place {
  int part;
  int64_t in_part;  // block
};
__device__ Place PlaceOfWarp() {
  return {static_cast<int>(blockIdx.y), int64_t{blockIdx.x} * kWarps + threadIdx.x / kLanes};
}

// --- memory -------------------------------------------------------------------------------------

template <bool kWhole, typename T>
__device__ Values Load(const T* p, int count) {
  Values x = {};
  if constexpr (kWhole) {
#pragma unroll
    for (int first = 0; first < kOwn; first += 4) {
      const Floats<4> four = LoadFloats<4>(p + ElementOf(first));
#pragma unroll
      for (int k = 0; k < 4; ++k) x.v[first + k] = four.v[k];
    }
  } else {
#pragma unroll
    for (int k = 0; k < kOwn; ++k) {
      if (ElementOf(k) < count) x.v[k] = ToFloat(p[ElementOf(k)]);
    }
  }
  return x;
}

template <typename T>
__device__ void Store(const Values& x, T* p, int count) {
  if (count == kQuantizedBlock) {
#pragma unroll
    for (int first = 0; first < kOwn; first += 4) {
      StoreFloats(p + ElementOf(first),
                  Floats<4>{{x.v[first], x.v[first + 1], x.v[first + 2], x.v[first + 3]}});
    }
  } else {
#pragma unroll
    for (int k = 0; k < kOwn; ++k) {
      if (ElementOf(k) < count) p[ElementOf(k)] = FromFloat<T>(x.v[k]);
    }
  }
}

// The sums of gradients and residuals.
template <bool kWhole, typename G>
__device__ Values Merged(const G* g, const float* h, int count) {
  Values x = Load<kWhole>(g, count);
  const Values kept = Load<kWhole>(h, count);
#pragma unroll
  for (int k = 0; k < kOwn; ++k) x.v[k] += kept.v[k];
  return x;
}

// --- rotation -----------------------------------------------------------------------------------

__device__ float Flipped(float x, uint32_t sign) {
  return __uint_as_float(__float_as_uint(x) ^ sign);
}

__device__ void ChangeSigns(int64_t begin, Values* x) {
#pragma unroll
  for (int first = 0; first < kOwn; first += 4) {
    const int element = ElementOf(first);
    const uint32_t signs = RotationSigns(begin, element / 32) >> element % 32;
#pragma unroll
    for (int k = 0; k < 4; ++k)
      x->v[first + k] = Flipped(x->v[first + k], signs << (31 - k) & kSign);
  }
}

// Of a thread's elements whose places differ in the bit kStep.
template <int kStep>
__device__ void Butterfly(Values* x) {
#pragma unroll
  for (int k = 0; k < kOwn; ++k) {
    if (k & kStep) continue;
    const float lower = x->v[k], upper = x->v[k + kStep];
    x->v[k] = lower + upper;
    x->v[k + kStep] = lower - upper;
  }
}

__device__ void MultiplyByHadamard(Values* x) {
  Butterfly<1>(x);
  Butterfly<2>(x);
#pragma unroll
  for (int step = 1; step < kLanes; step *= 2) {
    const uint32_t upper = Lane() & step ? kSign : 0;
#pragma unroll
    for (int k = 0; k < kOwn; ++k) {
      const float other = __shfl_xor_sync(0xffffffffu, x->v[k], step);
      x->v[k] = other + Flipped(x->v[k], upper);
    }
  }
  Butterfly<4>(x);
#pragma unroll
  for (int k = 0; k < kOwn; ++k) x->v[k] = __fmul_rn(x->v[k], 1.f / 16);
}

// Of the block that begins with element `begin` of the pool.
__device__ void Rotate(int64_t begin, Values* x) {
  ChangeSigns(begin, x);
  MultiplyByHadamard(x);
}
__device__ void Unrotate(int64_t begin, Values* x) {
  MultiplyByHadamard(x);
  ChangeSigns(begin, x);
}

__device__ bool Rotates(const QuantizedArrays& a, const QuantizedBlock& block) {
  return a.rotate && block.full != 0;
}

// --- codes --------------------------------------------------------------------------------------

// Words of a block's codes.
template <int kBits>
constexpr int kWords = kQuantizedBlock* kBits / 32;

// A block in a part.
struct Message {
  float* scale;
  uint32_t* codes;
};

// `part`: one of the 2 * world.
template <int kBits>
__device__ Message MessageAt(const QuantizedParts& parts, int part, int64_t in_part) {
  float* const words = parts.messages + part * parts.part_words;
  return {words + in_part,
          reinterpret_cast<uint32_t*>(words + parts.part_blocks) + in_part * kWords<kBits>};
}

// A thread's codes as they travel.
template <int kBits>
struct Codes {
  uint32_t word[kBits / 4];
};

template <int kBits>
__device__ Codes<kBits> LoadCodes(const uint32_t* codes) {
  Codes<kBits> c;
#pragma unroll
  for (int i = 0; i < kBits / 4; ++i) c.word[i] = codes[i * kLanes + Lane()];
  return c;
}

// Code k of the thread, from the bits `at` to `at + kBits - 1` of a word.
template <int kBits>
__device__ float CodeAt(const Codes<kBits>& c, int k) {
  const uint32_t word = kBits == 8 ? c.word[k / 4] : c.word[0];
  const int at = 8 * (k % 4) + (kBits == 8 ? 0 : k / 4 * 4);
  return static_cast<float>(static_cast<int>(word << (32 - kBits - at)) >> (32 - kBits));
}

template <int kBits>
__device__ Values Decoded(float scale, const Codes<kBits>& codes) {
  Values y;
#pragma unroll
  for (int k = 0; k < kOwn; ++k) y.v[k] = __fmul_rn(scale, CodeAt(codes, k));
  return y;
}

// The largest bits of a magnitude in the block.
__device__ uint32_t LargestBits(const Values& x) {
  uint32_t largest = 0;
#pragma unroll
  for (int k = 0; k < kOwn; ++k) largest = max(largest, __float_as_uint(x.v[k]) & ~kSign);
#pragma unroll
  for (int step = 1; step < kLanes; step *= 2) {
    largest = max(largest, __shfl_xor_sync(0xffffffffu, largest, step));
  }
  return largest;
}

// Writes the codes of x, and subtracts from x what they stand for. Returns the scale; if that is
// NaN, the rest is undefined.
template <int kBits>
__device__ float Encode(const Message& to, Values* x) {
  constexpr float kLevels = (1 << (kBits - 1)) - 1;
  // Adding 3 * 2^22 leaves the nearest integer in the low bits.
  constexpr float kRounding = 12582912.0f;
  const uint32_t bits = LargestBits(*x);
  const float largest = __uint_as_float(bits);
  const bool finite = bits < kInfinity;
  float scale = finite ? 0 : __uint_as_float(kNan), inverse = 0;
  if (finite && largest >= kLeastKept) {
    scale = largest / kLevels;
    inverse = kLevels / largest;
  }
  Codes<kBits> codes = {};
#pragma unroll
  for (int k = 0; k < kOwn; ++k) {
    const float exact = inverse == 0 ? 0 : __fmul_rn(x->v[k], inverse);
    const float rounded = __fadd_rn(exact, kRounding);
    const uint32_t code = __float_as_uint(rounded) & ((1u << kBits) - 1);
    codes.word[kBits == 8 ? k / 4 : 0] |= code << (8 * (k % 4) + (kBits == 8 ? 0 : k / 4 * 4));
    x->v[k] -= __fmul_rn(scale, rounded - kRounding);
  }
#pragma unroll
  for (int i = 0; i < kBits / 4; ++i) to.codes[i * kLanes + Lane()] = codes.word[i];
  if (Lane() == 0) *to.scale = scale;
  return scale;
}

// The sum of what all ranks have sent of a block.
template <int kBits>
__device__ Values SumOfAll(const QuantizedParts& parts, int64_t in_part) {
  Values x = {};
#pragma unroll 4
  for (int rank = 0; rank < parts.world; ++rank) {
    const Message from = MessageAt<kBits>(parts, parts.world + rank, in_part);
    const Values y = Decoded(*from.scale, LoadCodes<kBits>(from.codes));
#pragma unroll
    for (int k = 0; k < kOwn; ++k) x.v[k] += y.v[k];
  }
  return x;
}

// --- kernels ------------------------------------------------------------------------------------

__device__ float Kept(float x) { return fabsf(x) >= kLeastKept ? x : 0; }

template <int kBits, typename G>
__global__ void __launch_bounds__(kThreads) EncodeKernel(QuantizedArrays a, QuantizedParts parts) {
  const Place place = PlaceOfWarp();
  if (place.in_part >= parts.part_blocks) return;
  const int64_t number = place.part * parts.part_blocks + place.in_part;
  QuantizedBlock block;  // behind the last one: empty
  if (number < a.block_count) block = a.blocks[number];
  const G* const g = static_cast<const G*>(a.gradients) + block.begin;
  float* const h = a.residual + block.begin;
  Values x = block.count == kQuantizedBlock ? Merged<true>(g, h, block.count)
                                            : Merged<false>(g, h, block.count);
  const bool rotates = Rotates(a, block);
  if (rotates) Rotate(block.begin, &x);
  const int to = place.part == parts.rank ? parts.world + place.part : place.part;
  const float scale = Encode<kBits>(MessageAt<kBits>(parts, to, place.in_part), &x);
  if (isnan(scale)) {
#pragma unroll
    for (int k = 0; k < kOwn; ++k) {
      if (ElementOf(k) < block.count && !isfinite(h[ElementOf(k)])) h[ElementOf(k)] = 0;
    }
    return;
  }
  if (rotates) Unrotate(block.begin, &x);
#pragma unroll
  for (int k = 0; k < kOwn; ++k) x.v[k] = Kept(x.v[k]);
  Store(x, h, block.count);
}

template <int kBits>
__global__ void __launch_bounds__(kThreads) SumKernel(QuantizedParts parts) {
  const Place place = PlaceOfWarp();
  if (place.in_part >= parts.part_blocks) return;
  Values x = SumOfAll<kBits>(parts, place.in_part);
  Encode<kBits>(MessageAt<kBits>(parts, parts.rank, place.in_part), &x);
}

template <int kBits, typename G>
__global__ void __launch_bounds__(kThreads) DecodeKernel(QuantizedArrays a, QuantizedParts parts) {
  const Place place = PlaceOfWarp();
  const int64_t number = place.part * parts.part_blocks + place.in_part;
  if (place.in_part >= parts.part_blocks || number >= a.block_count) return;
  const QuantizedBlock block = a.blocks[number];
  const bool rotates = Rotates(a, block);
  const Message sum = MessageAt<kBits>(parts, place.part, place.in_part);
  const float scale = *sum.scale;
  Values y = Decoded(scale, LoadCodes<kBits>(sum.codes));
  if (place.part == parts.rank && !isnan(scale)) {
    Values x = SumOfAll<kBits>(parts, place.in_part);
#pragma unroll
    for (int k = 0; k < kOwn; ++k) x.v[k] -= y.v[k];
    if (rotates) Unrotate(block.begin, &x);
    float* const h = a.residual + block.begin;
    const Values kept =
        block.count == kQuantizedBlock ? Load<true>(h, block.count) : Load<false>(h, block.count);
#pragma unroll
    for (int k = 0; k < kOwn; ++k) x.v[k] = Kept(kept.v[k] + x.v[k]);
    Store(x, h, block.count);
  }
  if (rotates) Unrotate(block.begin, &y);
  Store(y, static_cast<G*>(a.gradients) + block.begin, block.count);
}

LaunchShape ByBlock(const QuantizedParts& parts, int count, cudaStream_t stream,
                    int line = __builtin_LINE()) {
  const int64_t blocks = (parts.part_blocks + kWarps - 1) / kWarps;
  return {dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(count)), kThreads, stream,
          __FILE__, line};
}

// Calls f(std::integral_constant of the bits).
template <typename F>
void WithBits(int bits, const F& f) {
  bits == 8 ? f(std::integral_constant<int, 8>()) : f(std::integral_constant<int, 4>());
}

}  // namespace

void EncodeQuantized(const QuantizedArrays& a, const QuantizedParts& parts, cudaStream_t stream) {
  WithType(a.gradient_type, [&](auto g) {
    WithBits(parts.bits, [&](auto bits) {
      Launch(ByBlock(parts, parts.world, stream), EncodeKernel<bits, decltype(g)>, a, parts);
    });
  });
}

void SumQuantized(const QuantizedParts& parts, cudaStream_t stream) {
  WithBits(parts.bits,
           [&](auto bits) { Launch(ByBlock(parts, 1, stream), SumKernel<bits>, parts); });
}

void DecodeQuantized(const QuantizedArrays& a, const QuantizedParts& parts, cudaStream_t stream) {
  WithType(a.gradient_type, [&](auto g) {
    WithBits(parts.bits, [&](auto bits) {
      Launch(ByBlock(parts, parts.world, stream), DecodeKernel<bits, decltype(g)>, a, parts);
    });
  });
}

}  // namespace gf
