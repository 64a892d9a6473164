#include "simulate/line_plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace gf {
namespace {

// Size of the chart and of the frame within it, in pixels.
constexpr double kWidth = 720, kHeight = 440;
constexpr double kLeft = 84, kRight = 700, kTop = 44, kBottom = 384;
// Distinguishable for color-blind readers (palette of Okabe and Ito).
constexpr const char* kColors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                   "#56b4e9", "#e69f00", "#000000"};
constexpr int kColorCount = 7;

std::string Format(const char* format, double a, double b = 0, double c = 0, double d = 0) {
  char text[256];
  std::snprintf(text, sizeof(text), format, a, b, c, d);
  return text;
}

// 1500000 -> "1.5M"
std::string Short(double value) {
  for (const auto& [unit, name] : {std::pair(1e9, "G"), std::pair(1e6, "M"), std::pair(1e3, "K")}) {
    if (std::abs(value) >= unit) return Format("%.4g", value / unit) + name;
  }
  return Format("%.4g", value);
}

std::string Escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : std::string(1, c);
  }
  return out;
}

struct Axis {
  bool log = false;
  double low = 0, high = 1;

  double Share(double value) const {
    if (log) return std::log(value / low) / std::log(high / low);
    return (value - low) / (high - low);
  }

  std::vector<double> Ticks() const {
    std::vector<double> ticks;
    if (log) {
      const double decades = std::log10(high / low);
      const double factor = decades > 5 ? 10 : decades > 2.5 ? 4 : 2;
      for (double tick = low; tick <= high * 1.001; tick *= factor) ticks.push_back(tick);
      return ticks;
    }
    const double raw = (high - low) / 5, unit = std::pow(10, std::floor(std::log10(raw)));
    const double step = unit * (raw / unit > 5 ? 10 : raw / unit > 2 ? 5 : 2);
    for (double tick = std::ceil(low / step) * step; tick <= high + step / 1e6; tick += step) {
      ticks.push_back(tick);
    }
    return ticks;
  }
};

Axis AxisOf(const LinePlot& plot, bool x) {
  Axis axis;
  axis.log = x ? plot.log_x : plot.log_y;
  axis.low = HUGE_VAL;
  axis.high = -HUGE_VAL;
  for (const auto& curve : plot.curves) {
    for (const auto& point : curve.points) {
      axis.low = std::min(axis.low, x ? point.first : point.second);
      axis.high = std::max(axis.high, x ? point.first : point.second);
    }
  }
  if (axis.low > axis.high) return {axis.log, axis.log ? 1.0 : 0.0, 2};
  if (!x && !axis.log) {
    axis.low = std::min(axis.low, 0.0);
    axis.high *= 1.05;
  }
  if (axis.low == axis.high) axis.high = axis.low * 2 + (axis.log ? 0 : 1);
  return axis;
}

std::string Text(double x, double y, const char* anchor, const std::string& text) {
  return Format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"", x, y) + anchor + "\">" +
         Escaped(text) + "</text>\n";
}

}  // namespace

std::string ToSvg(const LinePlot& plot) {
  const Axis x = AxisOf(plot, true), y = AxisOf(plot, false);
  const auto at_x = [&](double value) { return kLeft + x.Share(value) * (kRight - kLeft); };
  const auto at_y = [&](double value) { return kBottom - y.Share(value) * (kBottom - kTop); };
  std::string svg = Format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
      kWidth, kHeight);
  svg += Text((kLeft + kRight) / 2, 24, "middle", plot.title);
  for (double tick : y.Ticks()) {
    svg += Format("<path d=\"M%.1f %.1fH%.1f\" stroke=\"#ddd\"/>\n", kLeft, at_y(tick), kRight);
    svg += Text(kLeft - 6, at_y(tick) + 4, "end", Short(tick));
  }
  std::vector<double> ticks = x.Ticks();
  if (!plot.categories.empty()) {
    ticks.clear();
    for (size_t i = 0; i < plot.categories.size(); ++i) ticks.push_back(static_cast<double>(i));
  }
  for (double tick : ticks) {
    svg += Format("<path d=\"M%.1f %.1fV%.1f\" stroke=\"#ddd\"/>\n", at_x(tick), kTop, kBottom);
    const bool words = !plot.categories.empty();
    svg += Text(at_x(tick), kBottom + 18, "middle",
                words ? plot.categories[static_cast<size_t>(tick)] : Short(tick));
  }
  svg += Format("<path d=\"M%.1f %.1fV%.1fH700\" fill=\"none\" stroke=\"black\"/>\n", kLeft, kTop,
                kBottom);
  svg += Text((kLeft + kRight) / 2, kBottom + 42, "middle", plot.x_axis);
  svg += Format("<g transform=\"translate(18 %.1f) rotate(-90)\">", (kTop + kBottom) / 2) +
         Text(0, 0, "middle", plot.y_axis) + "</g>\n";
  for (size_t i = 0; i < plot.curves.size(); ++i) {
    const auto& curve = plot.curves[i];
    const std::string stroke =
        std::string("stroke=\"") + (curve.dashed ? "#777" : kColors[i % kColorCount]) +
        "\" stroke-width=\"2\"" + (curve.dashed ? " stroke-dasharray=\"5 4\"" : "");
    std::string path;
    for (const auto& [px, py] : curve.points) {
      path += Format(path.empty() ? "M%.1f %.1f" : "L%.1f %.1f", at_x(px), at_y(py));
      if (curve.dashed) continue;
      svg += Format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"", at_x(px), at_y(py)) +
             kColors[i % kColorCount] + "\"/>\n";
    }
    svg += "<path d=\"" + path + "\" fill=\"none\" " + stroke + "/>\n";
    const double row = kTop + 16 + 18 * static_cast<double>(i);
    svg += Format("<path d=\"M%.1f %.1fh24\" ", kLeft + 12, row) + stroke + "/>\n";
    svg += Text(kLeft + 42, row + 4, "start", curve.name);
  }
  return svg + "</svg>\n";
}

}  // namespace gf
