#include "layers/cuda/image_places_inline.h"
#include "layers/cuda/lrn_kernels.h"

namespace gf {
namespace {

struct Powers {
  float power, over_scale;  // scale^-beta, scale^(-beta - 1)
};

// If kThreeQuarters, beta is 3/4. An infinite scale gives 0.
template <bool kThreeQuarters>
__device__ Powers PowersOf(float scale, float beta) {
  if (kThreeQuarters) {
    const float root = rsqrtf(scale);  // scale^(-1/2)
    const float power = root > 0 ? root * root * rsqrtf(root) : root;
    return {power, power * root * root};
  }
  const float power = powf(scale, -beta);
  return {power, power / scale};
}

// Neighboring elements: the terms that windows add up, and the values that only the element itself
// needs.
template <int kCount>
struct Elements {
  Floats<kCount> term, x, gradient;
};

template <typename T, bool kThreeQuarters>
struct Forward {
  using Number = T;

  LrnImages p;
  const T* x;
  T* y;
  float* scale;

  // term: x^2
  template <int kCount>
  __device__ Elements<kCount> Load(int64_t i) const {
    Elements<kCount> e = {};
    e.x = LoadFloats<kCount>(x + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) e.term.v[k] = e.x.v[k] * e.x.v[k];
    return e;
  }
  template <int kCount>
  __device__ void Store(int64_t i, const Elements<kCount>& e, const Floats<kCount>& sums) const {
    Floats<kCount> scales, result;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      scales.v[k] = p.k + p.alpha * sums.v[k];
      result.v[k] = e.x.v[k] * PowersOf<kThreeQuarters>(scales.v[k], p.beta).power;
    }
    if (scale != nullptr) StoreFloats(scale + i, scales);
    StoreFloats(y + i, result);
  }
};

template <typename T, bool kThreeQuarters>
struct Backward {
  using Number = T;

  LrnImages p;
  const T* x;
  const T* dy;
  const float* scale;
  T* dx;

  // term: dy * x * scale^(-beta - 1); gradient: dy * scale^-beta
  template <int kCount>
  __device__ Elements<kCount> Load(int64_t i) const {
    Elements<kCount> e = {};
    e.x = LoadFloats<kCount>(x + i);
    const Floats<kCount> dys = LoadFloats<kCount>(dy + i), scales = LoadFloats<kCount>(scale + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const Powers powers = PowersOf<kThreeQuarters>(scales.v[k], p.beta);
      e.term.v[k] = dys.v[k] * e.x.v[k] * powers.over_scale;
      e.gradient.v[k] = dys.v[k] * powers.power;
    }
    return e;
  }
  template <int kCount>
  __device__ void Store(int64_t i, const Elements<kCount>& e, const Floats<kCount>& sums) const {
    Floats<kCount> result;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      result.v[k] = e.gradient.v[k] - 2 * p.alpha * p.beta * e.x.v[k] * sums.v[k];
    }
    StoreFloats(dx + i, result);
  }
};

// Windows of 2 * kReach + 1 channels. A thread handles kCount channels of a pixel and also computes
// the terms of kReach channels on each side. Rows of items are pixels.
template <typename F, int kCount, int kReach>
struct AcrossChannels {
  F f;
  FastDivide packs;  // packs per pixel

  __device__ void Run(int64_t first, uint32_t item) const {
    const FastDivide::Result at = packs.Divide(item);
    const int64_t i = ((first + at.quotient) * packs.divisor() + at.remainder) * kCount;
    float terms[kCount + 2 * kReach] = {};  // 0: there is no such channel
    if (at.remainder > 0) {
      const auto before = f.template Load<kReach>(i - kReach);
#pragma unroll
      for (int k = 0; k < kReach; ++k) terms[k] = before.term.v[k];
    }
    const Elements<kCount> own = f.template Load<kCount>(i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) terms[kReach + k] = own.term.v[k];
    if (at.remainder + 1 < packs.divisor()) {
      const auto after = f.template Load<kReach>(i + kCount);
#pragma unroll
      for (int k = 0; k < kReach; ++k) terms[kReach + kCount + k] = after.term.v[k];
    }
    Floats<kCount> sums = {};
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
#pragma unroll
      for (int j = 0; j <= 2 * kReach; ++j) sums.v[k] += terms[k + j];
    }
    f.Store(i, own, sums);
  }
};

// The same for any reach, with one channel per thread.
template <typename F>
struct AcrossChannels<F, 1, 0> {
  F f;
  FastDivide packs;  // channels per pixel

  __device__ void Run(int64_t first, uint32_t item) const {
    const FastDivide::Result at = packs.Divide(item);
    const int channel = static_cast<int>(at.remainder), reach = f.p.size / 2;
    const int64_t i = (first + at.quotient) * f.p.channels + channel;
    Floats<1> sum = {};
    const int end = min(channel + reach, f.p.channels - 1);
    for (int c = max(channel - reach, 0); c <= end; ++c) {
      sum.v[0] += f.template Load<1>(i + c - channel).term.v[0];
    }
    f.Store(i, f.template Load<1>(i), sum);
  }
};

// Windows of size x size pixels.
template <typename F, int kCount>
struct WithinChannel {
  F f;
  ImagePlaces<kCount> places;

  __device__ void Run(int64_t first, uint32_t item) const {
    const Place at = places.At(first, item);
    const int reach = f.p.size / 2, height = f.p.height, width = f.p.width;
    const auto element = [&](int y, int x) {
      return ((at.image * height + y) * width + x) * f.p.channels + at.channel;
    };
    Floats<kCount> sums = {};
    for (int y = max(at.y - reach, 0); y <= min(at.y + reach, height - 1); ++y) {
      for (int x = max(at.x - reach, 0); x <= min(at.x + reach, width - 1); ++x) {
        const auto neighbors = f.template Load<kCount>(element(y, x));
#pragma unroll
        for (int k = 0; k < kCount; ++k) sums.v[k] += neighbors.term.v[k];
      }
    }
    const int64_t i = element(at.y, at.x);
    f.Store(i, f.template Load<kCount>(i), sums);
  }
};

template <typename F, int kCount, int kReach>
void RunAcross(const F& f, cudaStream_t stream) {
  const LrnImages& p = f.p;
  const AcrossChannels<F, kCount, kReach> run = {
      f, FastDivide(static_cast<uint32_t>(p.channels / kCount))};
  ForItems(GroupsOf(p.n * p.height * p.width, p.channels / kCount), run, stream);
}

template <typename F, int kCount>
void RunWithin(const F& f, cudaStream_t stream) {
  const LrnImages& p = f.p;
  const WithinChannel<F, kCount> run = {f, ImagePlaces<kCount>(p.n, p.height, p.width, p.channels)};
  ForItems(run.places.groups(), run, stream);
}

template <typename F>
void RunLrn(const F& f, cudaStream_t stream) {
  constexpr int kCount = kPack<typename F::Number>;
  const bool packs = f.p.channels % kCount == 0;
  if (f.p.within_channel) {
    packs ? RunWithin<F, kCount>(f, stream) : RunWithin<F, 1>(f, stream);
  } else {
    packs&& f.p.size == 5 ? RunAcross<F, kCount, 2>(f, stream) : RunAcross<F, 1, 0>(f, stream);
  }
}

}  // namespace

// Without the bound, ptxas would spill registers to use at most 64.
template <typename F, int kCount>
constexpr int kBlocksOfItems<WithinChannel<F, kCount>> = 3;

void Lrn(const LrnImages& images, DType type, const void* x, void* y, float* scale,
         cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const auto run = [&](auto three_quarters) {
      const Forward<T, decltype(three_quarters)::value> f = {images, static_cast<const T*>(x),
                                                             static_cast<T*>(y), scale};
      RunLrn(f, stream);
    };
    images.beta == 0.75f ? run(std::true_type()) : run(std::false_type());
  });
}

void LrnGradient(const LrnImages& images, DType type, const void* x, const void* dy,
                 const float* scale, void* dx, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const auto run = [&](auto three_quarters) {
      const Backward<T, decltype(three_quarters)::value> f = {
          images, static_cast<const T*>(x), static_cast<const T*>(dy), scale, static_cast<T*>(dx)};
      RunLrn(f, stream);
    };
    images.beta == 0.75f ? run(std::true_type()) : run(std::false_type());
  });
}

}  // namespace gf
