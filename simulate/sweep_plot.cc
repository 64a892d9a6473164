#include <algorithm>
#include <cstdlib>

#include "simulate/line_plot.h"
#include "simulate/sweep.h"

namespace gf {

std::string SweepSvg(const std::string& title, const std::vector<SweepAxis>& axes,
                     const std::vector<SweepPoint>& points) {
  const SweepAxis& x = axes[0];
  LinePlot plot;
  plot.title = title;
  plot.x_axis = x.field.empty()      ? "ranks (devices)"
                : x.field == "theta" ? "theta: bytes that must wait before an allreduce starts"
                                     : x.name;
  plot.y_axis = "images/s";
  const auto number = [](const std::string& text) { return std::atof(text.c_str()); };
  plot.log_x = x.numbers && std::all_of(x.values.begin(), x.values.end(),
                                        [&](const auto& value) { return number(value) > 0; });
  plot.log_y = x.field.empty();
  if (!x.numbers) plot.categories = x.values;
  LinePlot::Curve ideal = {"ideal (linear)", {}, true};
  for (size_t i = 0; i < points.size(); ++i) {
    const SweepPoint& point = points[i];
    const size_t column = i % x.values.size();
    if (column == 0) {
      const std::string name = axes.size() > 1 ? axes[1].name + " " + point.series : "simulated";
      plot.curves.push_back({name, {}, false});
    }
    const double at = x.numbers ? number(point.x) : static_cast<double>(column);
    plot.curves.back().points.emplace_back(at, point.run.images_per_s);
    if (i < x.values.size()) ideal.points.emplace_back(at, point.run.one_device * point.run.ranks);
  }
  if (x.field.empty()) plot.curves.push_back(ideal);
  return ToSvg(plot);
}

}  // namespace gf
