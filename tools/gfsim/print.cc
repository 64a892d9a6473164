#include "tools/gfsim/print.h"

#include <cstdarg>
#include <string>

#include "core/error.h"
#include "core/readable.h"
#include "core/telemetry/table.h"
#include "solvers/report/choice.h"

namespace gf {
namespace {

std::string Format(const char* format, ...) __attribute__((format(printf, 1, 2)));
std::string Format(const char* format, ...) {
  char text[256];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  return text;
}

// What is hardly faster than the config is no suggestion.
constexpr double kFaster = 0.999;

std::string Part(double seconds, double total) {
  return Format("%9.2f ms  %5.1f %%", 1e3 * seconds, 100 * seconds / total);
}

// "0 s", "1h30m (5400.0 s)"
std::string Duration(double seconds) {
  if (seconds == 0) return "0 s";
  return seconds < 60 ? HumanSeconds(seconds)
                      : HumanSeconds(seconds) + Format(" (%.1f s)", seconds);
}

// "LAZY", "AUTO takes SPARSE 0.15"
std::string ExchangeOf(const CommConfig& comm, const RunResult& run) {
  const std::string mode = CommConfig::Mode_Name(comm.mode());
  if (run.choice.rungs.empty()) return mode;
  return StrCat(mode, " takes ", run.choice.taken());
}

// "32,768 images of 160x160, 12.34 ms"
std::string PhaseText(const TrainingPhase& phase) {
  const std::string size =
      phase.crop_size == 0 ? "" : StrCat(" of ", phase.crop_size, "x", phase.crop_size);
  return StrCat(WithCommas(phase.step_images), " images", size,
                Format(", %.2f ms", 1e3 * phase.step));
}

}  // namespace

void PrintRun(const SimulatedJob& job, const NetModel& net, const RunResult& run, FILE* out) {
  const StepParts& step = run.step;
  const double total = step.total();
  const CommConfig& comm = job.config.comm();
  const std::string of = run.phases.size() > 1 ? " of the first phase" : "";
  std::vector<std::pair<std::string, std::string>> rows = {
      {"cluster", StrCat(job.cluster.name(), ", ", Counted(run.ranks, "rank"), " on ",
                         Counted(run.nodes, "node"))},
      {"network", StrCat(net.name, ", ", WithCommas(net.layout.parameter_count()),
                         " parameters in ", Counted(net.layout.entries().size(), "tensor"))},
      {"times of layers", run.layer_times},
      {"exchange", StrCat(ExchangeOf(comm, run), ", ", comm.algorithm(), ", ",
                          HumanBytes(static_cast<double>(run.sent_bytes)), " per step")},
      {"images per step" + of, WithCommas(run.step_images)},
      {"images per epoch", WithCommas(run.train_images)},
      {"", ""},
      {"step" + of, Part(total, total)},
      {"  forward", Part(step.forward, total)},
      {"  backward", Part(step.backward, total)},
      {"  exposed communication", Part(step.exposed, total)},
      {"  update", Part(step.update, total)},
      {"  data", Part(step.data, total)},
      {"communication in all", Part(run.communication, total)},
      {"", ""},
      {"images/s" + of, Format("%.1f", run.images_per_s)},
      {"speed-up", Format("%.1f over one device at %.1f images/s", run.speedup(), run.one_device)},
      {"efficiency", Format("%.1f %%", 100 * run.efficiency())},
      {"", ""}};
  for (int kind = 0; kind < kLinkKinds - 1; ++kind) {
    if (run.traffic[kind] == 0) continue;
    rows.push_back({StrCat("busiest ", NameOf(static_cast<LinkKind>(kind))),
                    HumanBytes(run.traffic[kind]) + " per step and direction"});
  }
  rows.insert(rows.end(), {{"", ""},
                           {"training", Duration(run.training())},
                           {"  start", Duration(run.startup)},
                           {"  warm-up of the density", Duration(run.warmup)},
                           {"  other steps", Duration(run.steady)},
                           {"  validation", Duration(run.validation)},
                           {"  steps", WithCommas(run.total_steps)}});
  for (size_t i = 0; run.phases.size() > 1 && i < run.phases.size(); ++i) {
    rows.emplace_back(StrCat("    from step ", WithCommas(run.phases[i].first_step + 1)),
                      PhaseText(run.phases[i]));
  }
  if (run.node_price_per_hour > 0) {
    rows.emplace_back("cost of the training",
                      StrCat(Format("%.2f", run.cost()), ", ", Counted(run.nodes, "node"), " at ",
                             run.node_price_per_hour, " per hour"));
  }
  PrintTable(rows, out);
  if (run.choice.rungs.empty()) return;
  std::fprintf(out, "\n");
  for (const std::string& line : LinesOf(run.choice)) std::fprintf(out, "%s\n", line.c_str());
}

void PrintSuggestions(const std::vector<Suggestion>& all, size_t count, FILE* out) {
  const auto line = [&](const Suggestion& suggestion) {
    std::string settings;
    for (const std::string& setting : suggestion.settings) settings += " --set " + setting;
    std::fprintf(out, "%9.2f ms %12.1f images/s %6.1f %% %s\n", 1e3 * suggestion.run.step.total(),
                 suggestion.run.images_per_s, 100 * suggestion.run.efficiency(),
                 settings.empty() ? " (the config as it is)" : settings.c_str());
  };
  if (!all.empty()) std::fprintf(out, "times of layers: %s\n", all[0].run.layer_times.c_str());
  if (!all.empty() && all[0].run.phases.size() > 1) std::fprintf(out, "%s\n", kFirstPhase);
  for (const Suggestion& suggestion : all) {
    if (suggestion.settings.empty()) line(suggestion);
  }
  double own = 0;
  for (const Suggestion& suggestion : all) {
    if (suggestion.settings.empty()) own = suggestion.run.step.total();
  }
  size_t better = 0;
  while (better < all.size() && all[better].run.step.total() < kFaster * own) ++better;
  if (better == 0) {
    std::fprintf(out, "Nothing that was tried makes the step 0.1 %% shorter (%s).\n",
                 Counted(all.size() - 1, "other setting").c_str());
  }
  for (size_t i = 0; i < better && i < count; ++i) line(all[i]);
}

std::string Formatted(const char* format, double value) { return Format(format, value); }

}  // namespace gf
