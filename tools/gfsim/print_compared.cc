#include <algorithm>
#include <string>

#include "core/error.h"
#include "core/readable.h"
#include "core/telemetry/table.h"
#include "tools/gfsim/print.h"

namespace gf {
namespace {

// A part of the step below this fraction has no meaningful difference in percent.
constexpr double kLeastPart = 0.01;

}  // namespace

void PrintCompared(const MeasuredRun& measured, const RunResult& simulated, FILE* out) {
  Table table({"", ">measured", ">simulated", ">difference"});
  const auto row = [&](const char* name, double real, double model, const char* format,
                       double least = 0) {
    table.Add({name, Formatted(format, real), Formatted(format, model),
               real >= least ? Formatted("%+.1f %%", 100 * (model / real - 1)) : ""});
  };
  const auto milliseconds = [&](const char* name, double real, double model) {
    row(name, 1e3 * real, 1e3 * model, "%.2f ms", 1e3 * kLeastPart * measured.step_s);
  };
  const StepParts& step = simulated.step;
  milliseconds("step", measured.step_s, step.total());
  milliseconds("  compute and update",
               std::max(0.0, measured.step_s - measured.exposed_s - measured.data_s),
               step.forward + step.backward + step.update);
  milliseconds("  exposed communication", measured.exposed_s, step.exposed);
  milliseconds("  data", measured.data_s, step.data);
  row("images/s", measured.images_per_step / measured.step_s, simulated.images_per_s, "%.1f");
  table.Print(out);
  std::fprintf(out, "measured: medians of %s, %s; times of layers: %s\n",
               Counted(measured.lines, "progress line").c_str(),
               Counted(measured.ranks, "rank").c_str(), simulated.layer_times.c_str());
}

}  // namespace gf
