#pragma once

#include <cstdint>

namespace gf {

// The computation of a pass by Winograd's algorithm along an axis.
//
// Note [Winograd's algorithm with stride 2]
// With stride 2, result k = g[0] d[2k] + g[1] d[2k + 1] + g[2] d[2k + 2]. The even pixels meet a
// filter with the 2 taps g[0] and g[2], for which m results need m + 1 products (Note [Winograd's
// algorithm]); the odd pixels meet g[1] alone, in m products. So a tile has 2m + 1 points. The
// points of odd pixels share a filter, so a transformed filter has m + 2 points.
//
// The gradient of the images is computed the same way. With one pixel of padding, dx[2k] = g[1]
// dy[k] and dx[2k + 1] = g[2] dy[k] + g[0] dy[k + 1], for gradients dy of the results. A tile of m
// + 1 gradients dy gives 2m gradients dx. The gradient of the filters adds up the products of
// points that share a filter.
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

// The numbers of pixels (kStride2Data: gradients of results), of results and of filter points along
// an axis of a tile with `points` points.
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
// The filter's point that a point of a tile meets; odd pixels meet point 0.
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
