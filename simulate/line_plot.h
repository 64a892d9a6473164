#pragma once

#include <string>
#include <utility>
#include <vector>

namespace gf {

// A picture of curves, as SVG.
struct LinePlot {
  struct Curve {
    std::string name;
    std::vector<std::pair<double, double>> points;  // ascending x
    bool dashed = false;
  };

  std::string title, x_axis, y_axis;  // axes with their units
  bool log_x = false, log_y = false;  // then all values must be > 0
  // Words along the x axis in place of numbers: x is 0, 1, 2, ...
  std::vector<std::string> categories;
  std::vector<Curve> curves;
};

std::string ToSvg(const LinePlot& plot);

}  // namespace gf
