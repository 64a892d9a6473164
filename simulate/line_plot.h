#pragma once

#include <string>
#include <utility>
#include <vector>

namespace gf {

// A chart of curves, as SVG.
struct LinePlot {
  struct Curve {
    std::string name;
    std::vector<std::pair<double, double>> points;  // ascending x
    bool dashed = false;
  };

  std::string title, x_axis, y_axis;  // axis labels include units
  bool log_x = false, log_y = false;  // logarithmic axes need values > 0
  // Labels along the x axis instead of numbers, for x = 0, 1, 2, ...
  std::vector<std::string> categories;
  std::vector<Curve> curves;
};

std::string ToSvg(const LinePlot& plot);

}  // namespace gf
