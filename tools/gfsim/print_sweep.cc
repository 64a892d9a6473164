#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/readable.h"
#include "core/telemetry/table.h"
#include "tools/gfsim/print.h"

namespace gf {
namespace {

// "64 KiB", "1.5 MiB", "100 B"
std::string BinaryBytes(double bytes) {
  const char* const kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; unit < 4 && bytes >= 1024; ++unit) bytes /= 1024;
  return StrCat(bytes, " ", kUnits[unit]);
}

}  // namespace

void PrintSweep(const std::vector<SweepAxis>& axes, const std::vector<SweepPoint>& points,
                FILE* out) {
  const RunResult& first = FirstRun(points);
  const bool priced = first.node_price_per_hour > 0;
  std::vector<std::string> header;
  // Outer loops first, so that equal values stand in one block.
  for (size_t i = axes.size(); i-- > 0;)
    header.push_back((axes[i].numbers ? ">" : "") + axes[i].name);
  for (const char* name : {">step ms", ">exposed ms", ">images/s", ">efficiency %", ">training"}) {
    header.push_back(name);
  }
  if (priced) header.push_back(">cost");
  Table table(header);
  for (const SweepPoint& point : points) {
    const RunResult& run = point.run;
    std::vector<std::string> row;
    for (size_t i = axes.size(); i-- > 0;) {
      const std::string& value = point.values[i];
      row.push_back(HoldsBytes(axes[i]) ? BinaryBytes(std::atof(value.c_str())) : value);
    }
    if (!point.refusal.empty()) {
      row.resize(header.size(), "-");
      table.Add(std::move(row));
      continue;
    }
    row.push_back(Formatted("%.2f", 1e3 * run.step.total()));
    row.push_back(Formatted("%.2f", 1e3 * run.step.exposed));
    row.push_back(Formatted("%.1f", run.images_per_s));
    row.push_back(Formatted("%.1f", 100 * run.efficiency()));
    row.push_back(HumanSeconds(run.training()));
    if (priced) row.push_back(Formatted("%.2f", run.cost()));
    table.Add(std::move(row));
  }
  table.Print(out);
  std::fprintf(out, "times of layers: %s\n", first.layer_times.c_str());
  if (std::any_of(points.begin(), points.end(),
                  [](const SweepPoint& point) { return point.run.phases.size() > 1; })) {
    std::fprintf(out, "%s\n", kFirstPhase);
  }
}

}  // namespace gf
