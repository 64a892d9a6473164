#pragma once

#include <cstdint>

namespace gf {

// What a pass by Winograd's algorithm computes along an axis.
//
// Note [Winograd's algorithm with stride 2]
// With stride 2, result k = g[0] d[2k] + g[1] d[2k + 1] + g[2] d[2k + 2]. The even pixels meet a
// filter with the 2 taps g[0] and g[2], for which m results need m + 1 products (Note [Winograd's
// algorithm]); the odd pixels meet g[1] alone, in m products. So a tile has 2m + 1 points. Those of
// odd pixels have the same filter, so a transformed filter has m + 2 points.
//
// The gradient of the images is computed the same way: with one pixel of padding, the gradients of
// pixels 2k + 1 are those of results k and k + 1 times g[2] and g[0], and the gradients of pixels
// 2k are those of results k times g[1]. A tile of m + 1 gradients gives 2m gradients of pixels. In
// the gradient of the filters, the products of points with the same filter are added up.
//
// Tiles have up to 9 points, 5 of them for even pixels: errors are below 3e-6 of the results.
enum class WinogradForm {
  kThreeTaps,
  kFiveTaps,
  // Strided:
  kStride2,      // 3 taps
  kStride2Data,  // its gradient of the images, with one pixel of padding
};

static constexpr bool IsStrided(WinogradForm form) { return form >= WinogradForm::kStride2; }
static constexpr int TapsOf(WinogradForm form) { return form == WinogradForm::kFiveTaps ? 5 : 3; }

// Points of a tile along an axis.
constexpr int kFewestWinogradPoints = 5, kMostWinogradPoints = 10;
static constexpr bool IsTileSize(WinogradForm form, int points) {
  return points >= kFewestWinogradPoints && (!IsStrided(form) || points % 2 == 1);
}

// Of a tile with `points` points: what the pass reads (pixels; for kStride2Data gradients of
// results), what it computes, and points of filters.
static constexpr int PixelsOf(WinogradForm form, int points) {
  return form == WinogradForm::kStride2Data ? (points + 1) / 2 : points;
}
static constexpr int ResultsOf(WinogradForm form, int points) {
  if (form == WinogradForm::kStride2Data) return points - 1;
  return IsStrided(form) ? (points - 1) / 2 : points - TapsOf(form) + 1;
}
static constexpr int FilterPointsOf(WinogradForm form, int points) {
  return IsStrided(form) ? (points + 3) / 2 : points;
}

// Strided tiles order their points so that a smaller tile has the first points of a larger one:
// point 0 of the even pixels, then points of even and of odd pixels alternately.
static constexpr int EvenPoint(int i) { return i == 0 ? 0 : 2 * i - 1; }
static constexpr int OddPoint(int i) { return 2 * i + 2; }
// The filter's point that a point of a tile meets; 0 is that of odd pixels.
static constexpr int FilterPointOf(WinogradForm form, int point) {
  if (!IsStrided(form)) return point;
  return point == 0 ? 1 : point % 2 == 1 ? (point + 3) / 2 : 0;
}

// The first pixel of a tile; `pad`: before the first result.
static constexpr int64_t FirstPixelOf(WinogradForm form, int64_t first_result, int64_t pad) {
  if (form == WinogradForm::kStride2Data) return first_result / 2 - pad;
  return first_result * (IsStrided(form) ? 2 : 1) - pad;
}

// The pass from gradients of results to gradients of images: its form, and the pixels before its
// first result for a layer with `pad`.
static constexpr WinogradForm DataFormOf(WinogradForm form) {
  return IsStrided(form) ? WinogradForm::kStride2Data : form;
}
static constexpr int64_t DataPadOf(WinogradForm form, int64_t pad) {
  return IsStrided(form) ? 0 : TapsOf(form) - 1 - pad;
}

}  // namespace gf
