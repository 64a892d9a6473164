#include "tools/gfbench/arena_table.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/median.h"

namespace gf {
namespace {

constexpr double kMilli = 1e-3, kMega = 1e6;

double MedianOf(const std::vector<StepTimes>& steps, double StepTimes::*member) {
  std::vector<double> values;
  for (const StepTimes& step : steps) values.push_back(step.*member);
  return Median(values);
}

double Ratio(const ArenaRow& row, const ArenaRow& nothing) {
  std::vector<double> ratios;
  for (size_t i = 0; i < row.rounds.size(); ++i) {
    ratios.push_back(MedianOf(row.rounds[i], &StepTimes::step) /
                     MedianOf(nothing.rounds[i], &StepTimes::step));
  }
  return Median(ratios);
}

std::string TitleOf(const ArenaRow& row) {
  return row.taken.empty() ? row.name : row.name + ": " + row.taken;
}

}  // namespace

nlohmann::ordered_json ReportArena(const std::vector<ArenaRow>& rows, int ranks, int batch) {
  size_t width = 6;
  for (const ArenaRow& row : rows) width = std::max(width, TitleOf(row).size());
  const int w = static_cast<int>(width);
  std::printf("%-*s %10s %7s %10s %11s %13s %9s %10s\n", w, "method", "step ms", "ratio",
              "exposed ms", "transfer ms", "arithmetic ms", "MB sent", "images/s");
  auto figures = nlohmann::ordered_json::array();
  for (const ArenaRow& row : rows) {
    std::vector<StepTimes> steps;
    for (const auto& round : row.rounds) steps.insert(steps.end(), round.begin(), round.end());
    const double step = MedianOf(steps, &StepTimes::step), ratio = Ratio(row, rows[0]);
    const double exposed = MedianOf(steps, &StepTimes::exposed),
                 transfer = MedianOf(steps, &StepTimes::transfer),
                 arithmetic = MedianOf(steps, &StepTimes::arithmetic),
                 bytes = MedianOf(steps, &StepTimes::bytes);
    // Of a vector that is summed a rank sends this part in each of two directions.
    const double sent = bytes * 2 * (ranks - 1) / ranks;
    const double rate = batch * ranks / step;
    std::printf("%-*s %10.2f %7.3f", w, TitleOf(row).c_str(), step / kMilli, ratio);
    if (row.peer) {
      std::printf(" %10s %11s %13s %9s", "", "", "", "");
    } else {
      std::printf(" %10.2f %11.2f %13.2f %9.3f", exposed / kMilli, transfer / kMilli,
                  arithmetic / kMilli, sent / kMega);
    }
    std::printf(" %10.2f\n", rate);
    nlohmann::ordered_json line = {{"name", row.name},
                                   {row.peer ? "command" : "comm", row.comm},
                                   {"step_ms", step / kMilli},
                                   {"ratio", ratio}};
    if (!row.taken.empty()) line["taken"] = row.taken;
    if (!row.peer) {
      line.update({{"exchange", row.exchange},
                   {"forward_ms", MedianOf(steps, &StepTimes::forward) / kMilli},
                   {"backward_ms", MedianOf(steps, &StepTimes::backward) / kMilli},
                   {"rest_ms", MedianOf(steps, &StepTimes::finish) / kMilli},
                   {"exposed_ms", exposed / kMilli},
                   {"transfer_ms", transfer / kMilli},
                   {"arithmetic_ms", arithmetic / kMilli},
                   {"wire_bytes", bytes},
                   {"sent_bytes", sent}});
    }
    line["images_per_s"] = rate;
    figures.push_back(std::move(line));
  }
  return figures;
}

}  // namespace gf
