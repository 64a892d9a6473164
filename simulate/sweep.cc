#include "simulate/sweep.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

#include "core/error.h"
#include "core/readable.h"

namespace gf {
namespace {

constexpr size_t kMostPoints = 4096;

bool Equal(const SweepPoint& first, const SweepPoint& second) {
  const RunResult &a = first.run, &b = second.run;
  return first.refusal == second.refusal && a.step.total() == b.step.total() &&
         a.step.exposed == b.step.exposed && a.images_per_s == b.images_per_s &&
         a.training() == b.training() && a.cost() == b.cost() && a.ranks == b.ranks &&
         a.sent_bytes == b.sent_bytes &&
         std::equal(std::begin(a.traffic), std::end(a.traffic), std::begin(b.traffic));
}

}  // namespace

std::vector<SweepPoint> RunSweep(const SimulatedJob& job, const std::vector<SweepAxis>& axes) {
  size_t count = 1;
  for (const SweepAxis& axis : axes) count *= axis.values.size();
  if (count > kMostPoints) {
    ThrowUserError("--sweep: ", count, " combinations, expected at most ", kMostPoints,
                   ": give fewer values");
  }
  std::vector<SweepPoint> points;
  bool possible = false;  // for any combination
  for (size_t point = 0; point < count; ++point) {
    SimulatedJob changed = job;
    std::vector<std::string> values;
    size_t rest = point;
    for (const SweepAxis& axis : axes) {
      values.push_back(axis.values[rest % axis.values.size()]);
      rest /= axis.values.size();
      ApplyValue(axis, values.back(), &changed);
    }
    points.push_back({std::move(values), {}, ""});
    try {
      points.back().run = Simulator(changed).Run();
      possible = true;
    } catch (const UserError& error) {
      points.back().refusal = error.what();
    }
  }
  if (!possible) ThrowUserError(points[0].refusal);
  return points;
}

const RunResult& FirstRun(const std::vector<SweepPoint>& points) {
  return std::find_if(points.begin(), points.end(),
                      [](const SweepPoint& point) { return point.refusal.empty(); })
      ->run;
}

std::string RefusedPoints(const std::vector<SweepAxis>& axes,
                          const std::vector<SweepPoint>& points) {
  size_t count = 0;
  std::string first;
  for (const SweepPoint& point : points) {
    if (point.refusal.empty() || ++count > 1) continue;
    for (size_t i = axes.size(); i-- > 0;) first += axes[i].name + "=" + point.values[i] + " ";
    first += "is refused: " + point.refusal;
  }
  if (count == 0) return "";
  return StrCat(count, " of ", Counted(points.size(), "combination"), " ",
                count == 1 ? "has no figures" : "have no figures", ": ", first);
}

std::vector<std::string> AxesWithoutEffect(const std::vector<SweepAxis>& axes,
                                           const std::vector<SweepPoint>& points) {
  std::vector<std::string> names;
  size_t stride = 1;  // between points that differ in this axis by one value
  for (const SweepAxis& axis : axes) {
    bool effect = axis.values.size() < 2;
    for (size_t i = stride; i < points.size() && !effect; ++i) {
      const bool first_value = i / stride % axis.values.size() == 0;
      effect = !first_value && !Equal(points[i], points[i - stride]);
    }
    const bool one_value =
        std::set<std::string>(axis.values.begin(), axis.values.end()).size() == 1;
    if (!effect && !one_value) names.push_back(axis.name);
    stride *= axis.values.size();
  }
  return names;
}

std::string SweepCsv(const std::vector<SweepAxis>& axes, const std::vector<SweepPoint>& points) {
  const bool priced = FirstRun(points).node_price_per_hour > 0;
  std::ostringstream csv;
  csv.precision(9);
  for (const SweepAxis& axis : axes) csv << axis.name << ",";
  csv << "ranks_total,step_s,forward_s,backward_s,exposed_s,update_s,data_s,images_per_s,speedup,"
         "efficiency,training_s,sent_bytes,device_link_bytes,switch_link_bytes,nic_bytes,"
         "uplink_bytes,"
      << (priced ? "cost," : "") << "layer_times\n";
  for (const SweepPoint& point : points) {
    if (!point.refusal.empty()) continue;
    const RunResult& run = point.run;
    for (const std::string& value : point.values) csv << value << ",";
    csv << run.ranks << "," << run.step.total() << "," << run.step.forward << ","
        << run.step.backward << "," << run.step.exposed << "," << run.step.update << ","
        << run.step.data << "," << run.images_per_s << "," << run.speedup() << ","
        << run.efficiency() << "," << run.training() << "," << run.sent_bytes;
    for (int kind = 0; kind < kLinkKinds - 1; ++kind) csv << "," << run.traffic[kind];
    if (priced) csv << "," << run.cost();
    csv << "," << run.layer_times << "\n";
  }
  return csv.str();
}

}  // namespace gf
