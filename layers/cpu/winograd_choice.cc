#include "layers/cpu/winograd_choice.h"

#include <algorithm>

#include "core/simd.h"
#include "layers/cpu/dnnl_convolution.h"
#include "layers/cpu/winograd_kernels.h"

namespace gf {
namespace {

// Multiply-adds in the time that the kernels need, as measured, for each of:
constexpr double kPerElement = 16;  // an element of a transformed tensor
constexpr double kPerFilter = 32;   // an element of a transformed filter

// Kernels compute whole vectors of channels.
int64_t Padded(int64_t channels) {
  const int64_t lanes = WinogradTable().lanes;
  return (channels + lanes - 1) / lanes * lanes;
}

// Whether our own kernels can compute the convolution.
bool WinogradFits(const ConvolutionLayer& layer, const KernelSetup& setup, DType type) {
  const Window& w = layer.window();
  const int64_t taps = w.kernel[0], stride = w.stride[0];
  for (int i = 0; i < 2; ++i) {
    const bool pads = stride == 1 ? w.pad[i] < taps : w.pad[i] == 1;
    if (w.kernel[i] != taps || w.stride[i] != stride || w.dilation[i] != 1 || !pads) return false;
  }
  const bool has_form = (stride == 1 && (taps == 3 || taps == 5)) || (stride == 2 && taps == 3);
  return has_form && layer.groups() == 1 && MostPoints(setup, FormOf(layer), type) > 0 &&
         BestIsa() != Isa::kBaseline &&
         (!setup.parameters_fixed || setup.parameters[0].layout.plain());
}

}  // namespace

WinogradPlan PlanWinograd(int64_t images, const std::array<int64_t, 2>& results, WinogradForm form,
                          int64_t inputs, int64_t outputs, int most_points) {
  WinogradPlan best;
  for (int most = kFewestWinogradPoints + 1; most <= most_points; ++most) {
    WinogradPlan plan;
    int size = 0;
    double points = static_cast<double>(images);
    for (int i = 0; i < 2; ++i) {
      plan.splits[i] = SplitAxis(results[i], form, most);
      points *= static_cast<double>(plan.splits[i].points());
      size = std::max(size, plan.splits[i].large);
    }
    const auto both = static_cast<double>(Padded(inputs) + Padded(outputs)),
               filters = static_cast<double>(Padded(inputs) * Padded(outputs));
    const int of_filter = FilterPointsOf(form, size);
    plan.cost =
        points * (filters + kPerElement * both) + kPerFilter * of_filter * of_filter * filters;
    if (best.cost == 0 || plan.cost < best.cost) best = plan;
  }
  return best;
}

WinogradForm FormOf(const ConvolutionLayer& layer) {
  const Window& window = layer.window();
  if (window.stride[0] == 2) return WinogradForm::kStride2;
  return window.kernel[0] == 3 ? WinogradForm::kThreeTaps : WinogradForm::kFiveTaps;
}

int MostPoints(const KernelSetup& setup, WinogradForm form, DType type) {
  const int64_t filters = setup.bottoms[0].shape[1] * setup.tops[0].shape[1],
                most_floats = setup.backward ? int64_t{1} << 26 : int64_t{1} << 22;
  if (IsStrided(form)) {
    constexpr int kMost = 9, kFilterPoints = FilterPointsOf(WinogradForm::kStride2, kMost);
    return filters <= most_floats / (kFilterPoints * kFilterPoints) ? kMost : 0;
  }
  const int most = type == DType::kFP32 ? kMostWinogradPointsOfFp32 : kMostWinogradPoints;
  for (int points = most; points >= kMostWinogradPointsOfFp32; --points) {
    if (filters <= most_floats / (points * points)) return points;
  }
  return 0;
}

int64_t ImagesOfPlan(const KernelSetup& setup) {
  constexpr int64_t kWithoutBackward = 4;
  return setup.backward ? setup.bottoms[0].shape[0] : kWithoutBackward;
}

bool WinogradPays(const ConvolutionLayer& layer, const KernelSetup& setup,
                  const KernelContext& context) {
  const WinogradWay way = WayOfWinograd();
  if (way == WinogradWay::kLibrary || !WinogradFits(layer, setup, context.compute)) return false;
  if (way == WinogradWay::kOwn) return true;
  const bool in_bf16 = ConvolutionMath(context) == DType::kBF16;
  if (in_bf16 && DnnlHas(dnnl::cpu_isa::avx512_core_amx)) return false;
  const Shape& top = setup.tops[0].shape;
  const int64_t taps = layer.window().kernel[0], channels = setup.bottoms[0].shape[1],
                images = ImagesOfPlan(setup);
  const WinogradForm form = FormOf(layer);
  const WinogradPlan plan = PlanWinograd(images, {top[2], top[3]}, form, channels, top[1],
                                         MostPoints(setup, form, context.compute));
  // Direct convolutions have kernels for colors.
  constexpr int64_t kColors = 3;
  const int64_t inputs = channels <= kColors ? channels : Padded(channels);
  const double direct = static_cast<double>(images * inputs * taps * taps) *
                        static_cast<double>(Padded(top[1]) * top[2] * top[3]);
  return plan.cost < (in_bf16 ? direct / 2 : direct);
}

}  // namespace gf
