#include "solvers/update_kernels.h"

#include "core/bf16_inline.h"
#include "solvers/adaptive_inline.h"

namespace gf {
namespace {

constexpr int kSums = 32;
constexpr int64_t kBlock = 128 * kSums;
// Number of elements to prefetch in loops that only read: hardware prefetching stops at the end of
// a page.
constexpr int64_t kPrefetch = 1024;

template <typename T>
static inline bool IsCopy(const float* w, const T* compute) {
  return static_cast<const void*>(compute) != w;
}

// kCopy: whether there is a compute copy.
template <bool kNesterov, bool kCarried, bool kCopy, typename T>
void Momentum(float* __restrict w, T* __restrict compute, float* __restrict v,
              const T* __restrict g, int64_t n, const MomentumFactors& factors) {
  const float gradient_rate = factors.gradient_rate, weight_rate = factors.weight_rate;
  const float momentum = factors.momentum, decay = factors.decay, scale = factors.scale;
  for (int64_t i = 0; i < n; ++i) {
    const float weight = w[i];
    const float gradient = scale * Load(g + i);
    const float entering = gradient_rate * (kCarried ? decay * weight : gradient + decay * weight);
    const float velocity = momentum * v[i] + entering;
    v[i] = velocity;
    float change = kNesterov ? momentum * velocity + entering : velocity;
    if (kCarried) change += gradient_rate * gradient;
    const float result = weight - weight_rate * change;
    w[i] = result;
    if (kCopy) Store(compute + i, result);
  }
}

template <bool kCopy, typename T>
void MomentumOf(float* w, T* compute, float* v, const T* g, int64_t n,
                const MomentumFactors& factors) {
  const auto run =
      factors.nesterov
          ? (factors.carried ? Momentum<true, true, kCopy, T> : Momentum<true, false, kCopy, T>)
          : (factors.carried ? Momentum<false, true, kCopy, T> : Momentum<false, false, kCopy, T>);
  run(w, compute, v, g, n, factors);
}

template <typename T>
void ByMomentum(float* w, T* compute, float* v, const T* g, int64_t n,
                const MomentumFactors& factors) {
  (IsCopy(w, compute) ? MomentumOf<true, T> : MomentumOf<false, T>)(w, compute, v, g, n, factors);
}

template <typename T>
void Ahead(const float* __restrict w, T* __restrict compute, const float* __restrict h, int64_t n,
           float rate) {
  for (int64_t i = 0; i < n; ++i) Store(compute + i, w[i] - rate * h[i]);
}

static inline float LambDirection(float w, float m, float v, const AdaptiveFactors& f) {
  return AdamDirection(m, v, f) + f.decay * w;
}

// Sums of the squares of w[i] and second(i) over i, with kSums partial sums per block.
// `prefetch(i)` prefetches the data of element i.
template <typename Second, typename Prefetch>
static inline void SumSquares(const float* w, int64_t n, const Second& second,
                              const Prefetch& prefetch, double result[2]) {
  result[0] = result[1] = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = n - begin < kBlock ? n : begin + kBlock;
    float first_sums[kSums] = {}, second_sums[kSums] = {};
    const auto add = [&](int64_t i, int k) __attribute__((always_inline)) {
      const float b = second(i + k);
      first_sums[k] += w[i + k] * w[i + k];
      second_sums[k] += b * b;
    };
    int64_t i = begin;
    for (; i + kSums <= end; i += kSums) {
      prefetch(i + kPrefetch);
      for (int k = 0; k < kSums; ++k) add(i, k);
    }
    for (int k = 0; i + k < end; ++k) add(i, k);
    for (int k = 0; k < kSums; ++k) {
      result[0] += static_cast<double>(first_sums[k]);
      result[1] += static_cast<double>(second_sums[k]);
    }
  }
}

template <typename T>
void LambMoments(const float* __restrict w, float* __restrict m, float* __restrict v,
                 const T* __restrict g, int64_t n, const AdaptiveFactors& factors, double sums[2]) {
  const AdaptiveFactors f = factors;
  SumSquares(
      w, n,
      [=](int64_t i) __attribute__((always_inline)) {
        const float gradient = f.scale * Load(g + i);
        m[i] = MeanWith(f.beta1, m[i], gradient);
        v[i] = MeanSquareWith(f.beta2, v[i], gradient);
        return LambDirection(w[i], m[i], v[i], f);
      },
      [](int64_t) __attribute__((always_inline)){}, sums);
}

template <bool kCopy, typename T>
void LambUpdate(float* __restrict w, T* __restrict compute, const float* __restrict m,
                const float* __restrict v, int64_t n, const AdaptiveFactors& factors, float rate) {
  const AdaptiveFactors f = factors;
  for (int64_t i = 0; i < n; ++i) {
    const float result = w[i] - rate * LambDirection(w[i], m[i], v[i], f);
    w[i] = result;
    if (kCopy) Store(compute + i, result);
  }
}

template <typename T>
void LambApply(float* w, T* compute, const float* m, const float* v, int64_t n,
               const AdaptiveFactors& factors, float rate) {
  (IsCopy(w, compute) ? LambUpdate<true, T> : LambUpdate<false, T>)(w, compute, m, v, n, factors,
                                                                    rate);
}

template <AdaptiveRule kRule, bool kCopy, typename T>
void Adaptive(float* __restrict w, T* __restrict compute, float* __restrict first,
              float* __restrict second, const T* __restrict g, int64_t n,
              const AdaptiveFactors& factors, float rate) {
  constexpr bool kSecond = HasSecondState(kRule);
  const AdaptiveFactors f = factors;
  for (int64_t i = 0; i < n; ++i) {
    const AdaptedWeight before = {w[i], first[i], kSecond ? second[i] : 0.f};
    const AdaptedWeight result = Adapt<kRule>(before, f.scale * Load(g + i), f, rate);
    w[i] = result.w;
    first[i] = result.first;
    if (kSecond) second[i] = result.second;
    if (kCopy) Store(compute + i, result.w);
  }
}

template <typename T>
void ByAdaptiveRule(AdaptiveRule rule, float* w, T* compute, float* first, float* second,
                    const T* g, int64_t n, const AdaptiveFactors& factors, float rate) {
  WithRule(rule, [&](auto constant) {
    constexpr AdaptiveRule kRule = decltype(constant)::value;
    (IsCopy(w, compute) ? Adaptive<kRule, true, T> : Adaptive<kRule, false, T>)(w, compute, first,
                                                                                second, g, n,
                                                                                factors, rate);
  });
}

template <typename T>
void Squares(const float* w, const T* g, int64_t n, double sums[2]) {
  SumSquares(
      w, n, [=](int64_t i) __attribute__((always_inline)) { return Load(g + i); },
      [=](int64_t i) __attribute__((always_inline)) {
        __builtin_prefetch(w + i);
        __builtin_prefetch(w + i + kSums / 2);
        __builtin_prefetch(g + i);
        if (sizeof(T) == 4) __builtin_prefetch(g + i + kSums / 2);
      },
      sums);
}

template <typename T>
double MuonDirections(float* __restrict mean, float* __restrict direction, const T* __restrict g,
                      int64_t n, const MuonFactors& factors) {
  const MuonFactors f = factors;
  for (int64_t i = 0; i < n; ++i) {
    const MuonElement result = MuonDirection(mean[i], f.scale * Load(g + i), f);
    mean[i] = result.mean;
    direction[i] = result.direction;
  }
  double sums[2];
  Squares(direction, direction, n, sums);
  return sums[0];
}

template <bool kCopy, typename T>
void MuonUpdate(float* __restrict w, T* __restrict compute, const float* __restrict direction,
                int64_t n, float keep, float rate) {
  for (int64_t i = 0; i < n; ++i) {
    const float result = keep * w[i] - rate * direction[i];
    w[i] = result;
    if (kCopy) Store(compute + i, result);
  }
}

template <typename T>
void MuonApply(float* w, T* compute, const float* direction, int64_t n, float keep, float rate) {
  (IsCopy(w, compute) ? MuonUpdate<true, T> : MuonUpdate<false, T>)(w, compute, direction, n, keep,
                                                                    rate);
}

bool Finite(const float* p, int64_t n) {
  uint32_t found = 0;
  for (int64_t i = 0; i < n; ++i) {
    uint32_t bits;
    __builtin_memcpy(&bits, p + i, sizeof(bits));
    found |= (bits & 0x7f800000u) == 0x7f800000u;
  }
  return found == 0;
}

bool FiniteBf16(const uint16_t* p, int64_t n) {
  uint16_t found = 0;
  for (int64_t i = 0; i < n; ++i) found |= (p[i] & 0x7f80u) == 0x7f80u;
  return found == 0;
}

template <typename T>
void Add(float* __restrict sum, const T* __restrict g, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += Load(g + i);
}

template <typename T>
void Merge(T* __restrict g, float* __restrict sum, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    Store(g + i, Load(g + i) + sum[i]);
    sum[i] = 0;
  }
}

void Average(const float* __restrict x, float share, float* __restrict mean, int64_t n) {
  for (int64_t i = 0; i < n; ++i) mean[i] = MovedTo(x[i], share, mean[i]);
}

}  // namespace

GF_SIMD_DEFINE(UpdateKernels, Updates) = {
    {&ByMomentum<float>, &LambMoments<float>, &LambApply<float>, &ByAdaptiveRule<float>,
     &MuonDirections<float>, &MuonApply<float>, &Ahead<float>, &Squares<float>, &Finite,
     &Add<float>, &Merge<float>},
    {&ByMomentum<uint16_t>, &LambMoments<uint16_t>, &LambApply<uint16_t>, &ByAdaptiveRule<uint16_t>,
     &MuonDirections<uint16_t>, &MuonApply<uint16_t>, &Ahead<uint16_t>, &Squares<uint16_t>,
     &FiniteBf16, &Add<uint16_t>, &Merge<uint16_t>},
    &Average,
};

}  // namespace gf
