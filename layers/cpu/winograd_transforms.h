#pragma once

// The transforms of Winograd's algorithm along an axis, compiled by simd_library: Note [Winograd's
// algorithm] (layers/cpu/winograd_points.h).

#include "core/simd_vector.h"
#include "layers/cpu/winograd_points.h"

namespace gf {

constexpr int kLanes = kNativeLanes;
constexpr int kMost = kMostWinogradPoints;
using V = Vec<kLanes>;

// A transform reads vectors load(0), load(1), ... and calls store(i, vector) for its results.

// B^T x. The points of tiles of even size are symmetric: so are the rows of opposite points, up to
// the sign of odd powers.
template <int kSize, typename Load, typename Store>
GF_INLINE void TransformImages(const Load& load, const Store& store) {
  V x[kSize];
  for (int i = 0; i < kSize; ++i) x[i] = load(i);
  // Adds up the row of a point over powers first, first + step, ...
  const auto sum = [&](auto point, auto first, auto step) {
    V result = {};
    ForEach<kSize>([&](auto k) {
      constexpr float kFactor = WinogradPoints<kSize>::Images().v[point.kValue][k.kValue];
      if constexpr (k.kValue % step.kValue == first.kValue && kFactor != 0) {
        result += kFactor * x[k.kValue];
      }
    });
    return result;
  };
  store(0, sum(Int<0>(), Int<0>(), Int<1>()));
  store(1, sum(Int<1>(), Int<0>(), Int<1>()));
  ForEach<kSize / 2 - 1>([&](auto pair) {
    constexpr int kPoint = 2 + 2 * pair.kValue;
    if constexpr (kSize % 2 == 0) {
      const V even = sum(Int<kPoint>(), Int<0>(), Int<2>()),
              odd = sum(Int<kPoint>(), Int<1>(), Int<2>());
      store(kPoint, even + odd);
      store(kPoint + 1, even - odd);
    } else {
      store(kPoint, sum(Int<kPoint>(), Int<0>(), Int<1>()));
      store(kPoint + 1, sum(Int<kPoint + 1>(), Int<0>(), Int<1>()));
    }
  });
  if constexpr (kSize % 2 == 1) store(kSize - 1, sum(Int<kSize - 1>(), Int<0>(), Int<1>()));
}

// Calls body(first point of a pair, whether the pair has a second one).
template <int kSize, typename Body>
GF_INLINE void ForPairs(const Body& body) {
  ForEach<(kSize - 1) / 2>([&](auto pair) {
    constexpr int kPoint = 2 + 2 * pair.kValue;
    body(Int<kPoint>(), Int<(kPoint + 1 < kSize)>());
  });
}

// The values at kSize points of polynomials with kCount coefficients x: G x, A x.
template <int kSize, int kCount, typename Load, typename Store>
GF_INLINE void Evaluate(const Load& load, const Store& store) {
  using Points = WinogradPoints<kSize>;
  V x[kCount];
  for (int i = 0; i < kCount; ++i) x[i] = load(i);
  store(0, x[0]);
  store(Points::kInfinity, x[kCount - 1]);
  ForPairs<kSize>([&](auto point, auto is_pair) {
    V even = x[0], odd = {};
    ForEach<kCount>([&](auto k) {
      constexpr float kPower = Points::Power(point.kValue, k.kValue, kCount);
      if constexpr (k.kValue % 2 == 1) odd += kPower * x[k.kValue];
      if constexpr (k.kValue % 2 == 0 && k.kValue > 0) even += kPower * x[k.kValue];
    });
    store(point.kValue, even + odd);
    if constexpr (is_pair.kValue != 0) store(point.kValue + 1, even - odd);
  });
}

// The transpose of Evaluate: A^T x, G^T x.
template <int kSize, int kCount, typename Load, typename Store>
GF_INLINE void Interpolate(const Load& load, const Store& store) {
  using Points = WinogradPoints<kSize>;
  V sums[kCount] = {};
  sums[0] = load(0);
  sums[kCount - 1] += load(Points::kInfinity);
  ForPairs<kSize>([&](auto point, auto is_pair) {
    V even = load(point.kValue), odd = even;
    if constexpr (is_pair.kValue != 0) {
      const V opposite = load(point.kValue + 1);
      even += opposite;
      odd -= opposite;
    }
    ForEach<kCount>([&](auto k) {
      constexpr float kPower = Points::Power(point.kValue, k.kValue, kCount);
      sums[k.kValue] += kPower * (k.kValue % 2 == 0 ? even : odd);
    });
  });
  ForEach<kCount>([&](auto k) { store(k.kValue, sums[k.kValue]); });
}

// The transforms of a tile with kSize points: of its pixels, of products to results, of gradients
// of results, of filters, and of products to gradients of filters.
template <WinogradForm kForm, int kSize>
struct Axis {
  static constexpr int kPixels = PixelsOf(kForm, kSize);
  static constexpr int kResults = ResultsOf(kForm, kSize);
  static constexpr int kFilterPoints = FilterPointsOf(kForm, kSize), kTaps = TapsOf(kForm);
  static constexpr bool kStrided = IsStrided(kForm);
  // Of a strided tile: points of even pixels, points of odd pixels.
  static constexpr int kEven = (kSize + 1) / 2, kOdd = kEven - 1;

  template <typename Load, typename Store>
  GF_INLINE void Pixels(const Load& load, const Store& store) {
    if constexpr (!kStrided) {
      TransformImages<kSize>(load, store);
    } else {
      constexpr int kStep = kForm == WinogradForm::kStride2 ? 2 : 1;
      TransformImages<kEven>([&](int i) { return load(kStep * i); },
                             [&](int i, V value) { store(EvenPoint(i), value); });
      for (int i = 0; i < kOdd; ++i) store(OddPoint(i), load(kStep * i + kStep / 2));
    }
  }

  template <typename Load, typename Store>
  GF_INLINE void Results(const Load& load, const Store& store) {
    if constexpr (!kStrided) {
      Interpolate<kSize, kResults>(load, store);
    } else if constexpr (kForm == WinogradForm::kStride2) {
      Interpolate<kEven, kOdd>([&](int i) { return load(EvenPoint(i)); },
                               [&](int k, V value) { store(k, value + load(OddPoint(k))); });
    } else {
      Interpolate<kEven, kOdd>([&](int i) { return load(EvenPoint(i)); },
                               [&](int k, V value) { store(2 * k + 1, value); });
      for (int k = 0; k < kOdd; ++k) store(2 * k, load(OddPoint(k)));
    }
  }

  template <typename Load, typename Store>
  GF_INLINE void Gradients(const Load& load, const Store& store) {
    if constexpr (!kStrided) {
      Evaluate<kSize, kResults>(load, store);
    } else {
      V x[kOdd];
      for (int i = 0; i < kOdd; ++i) x[i] = load(i);
      Evaluate<kEven, kOdd>([&](int i) { return x[i]; },
                            [&](int i, V value) { store(EvenPoint(i), value); });
      for (int i = 0; i < kOdd; ++i) store(OddPoint(i), x[i]);
    }
  }

  template <typename Load, typename Store>
  GF_INLINE void Filter(const Load& load, const Store& store) {
    if constexpr (!kStrided) {
      Evaluate<kSize, kTaps>(load, store);
    } else {
      Evaluate<kEven, 2>([&](int i) { return load(2 * i); },
                         [&](int i, V value) { store(i + 1, value); });
      store(0, load(1));
    }
  }

  template <typename Load, typename Store>
  GF_INLINE void FilterGradient(const Load& load, const Store& store) {
    if constexpr (!kStrided) {
      Interpolate<kSize, kTaps>(load, store);
    } else {
      Interpolate<kEven, 2>([&](int i) { return load(i + 1); },
                            [&](int k, V value) { store(2 * k, value); });
      store(1, load(0));
    }
  }
};

// Calls body(Axis<kForm, size>()).
template <WinogradForm kForm, typename Body>
GF_INLINE void WithAxis(int size, const Body& body) {
  ForEach<kMost + 1>([&](auto i) {
    if constexpr (IsTileSize(kForm, i.kValue)) {
      if (size == i.kValue) body(Axis<kForm, i.kValue>());
    }
  });
}

template <WinogradForm kForm>
struct FormConstant {
  static constexpr WinogradForm kValue = kForm;
};

// Calls body(FormConstant<form>()) for one of kForms.
template <WinogradForm... kForms, typename Body>
GF_INLINE void WithForm(WinogradForm form, const Body& body) {
  const auto try_form = [&](auto constant) {
    if (form == constant.kValue) body(constant);
  };
  (try_form(FormConstant<kForms>()), ...);
}

}  // namespace gf
