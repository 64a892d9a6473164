#include "solvers/report/report.h"

#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/readable.h"
#include "core/telemetry/table.h"
#include "solvers/report/choice.h"

namespace gf {
namespace {

template <typename... Args>
std::string Format(const char* format, Args... args) {
  char text[256];
  std::snprintf(text, sizeof(text), format, args...);
  return text;
}

// "2026-01-31T12:00:00Z"
std::string Now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

// JSON has no NaN and infinity.
nlohmann::ordered_json Number(double value) {
  if (!std::isfinite(value)) return nullptr;
  return value;
}

}  // namespace

Report::Report(const std::string& log, bool tensorboard, bool speaks) : speaks_(speaks) {
  if (!speaks) return;
  console_ = std::make_unique<Console>(stdout);
  lines_ = std::make_unique<JsonLines>(log);
  events_ = std::make_unique<EventFile>(
      tensorboard ? (std::filesystem::current_path() / log).parent_path().string() : "");
}

void Report::Write(const std::string& kind, nlohmann::ordered_json record) {
  nlohmann::ordered_json line;
  line["kind"] = kind;
  line["time"] = Now();
  line["elapsed_s"] =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  line.update(record);
  lines_->Write(line);
}

void Report::Start(const std::vector<std::pair<std::string, std::string>>& settings,
                   const std::vector<std::pair<std::string, std::string>>& shown) {
  if (!speaks_) return;
  PrintTable(shown, stdout);
  nlohmann::ordered_json table = nlohmann::ordered_json::object();
  for (const auto& row : settings) table[row.first] = row.second;
  Write("start", {{"settings", table}});
}

void Report::Train(const TrainRecord& r) {
  if (!speaks_) return;
  console_->Progress(Format("step %lld/%lld  epoch %.2f  loss %.4f  lr %.4g  %.0f images/s  "
                            "data wait %.1f %%  comm %.2f ms  ETA ",
                            static_cast<long long>(r.step), static_cast<long long>(r.max_steps),
                            r.epoch, r.loss, r.lr, r.images_per_s, 100 * r.data_wait, r.comm_ms) +
                     HumanSeconds(r.eta_s));
  Write("train", {{"step", r.step},
                  {"epoch", r.epoch},
                  {"loss", Number(r.loss)},
                  {"lr", r.lr},
                  {"images_per_s", r.images_per_s},
                  {"data_wait", r.data_wait},
                  {"comm_ms", r.comm_ms},
                  {"eta_s", r.eta_s}});
  events_->Write(r.step, {{"train/loss", r.loss},
                          {"train/lr", r.lr},
                          {"train/epoch", r.epoch},
                          {"speed/images_per_s", r.images_per_s},
                          {"speed/data_wait", r.data_wait},
                          {"speed/comm_ms", r.comm_ms}});
}

void Report::Validation(int64_t step, double epoch, const Tally& tally, double seconds) {
  if (!speaks_) return;
  const double rate = seconds > 0 ? static_cast<double>(tally.images()) / seconds : 0;
  const std::vector<Figure> figures = tally.Figures();
  std::string line =
      Format("validation  step %lld  epoch %.2f", static_cast<long long>(step), epoch);
  for (const Figure& figure : figures) {
    if (figure.value) line += StrCat("  ", figure.name, " ", FigureText(figure));
  }
  console_->Line(line + Format("  loss %.4f  %s images  %.0f images/s", tally.loss(),
                               WithCommas(tally.images()).c_str(), rate));
  nlohmann::ordered_json record = {{"step", step}, {"epoch", epoch}, {"images", tally.images()}};
  for (const Figure& figure : figures) {
    record[figure.key] = figure.value ? Number(*figure.value) : nullptr;
  }
  record["loss"] = Number(tally.loss());
  record["images_per_s"] = rate;
  Write("validation", std::move(record));
  std::vector<std::pair<std::string, double>> values;
  for (const Figure& figure : figures) {
    if (figure.value) values.emplace_back("validation/" + figure.key, *figure.value);
  }
  values.emplace_back("validation/loss", tally.loss());
  events_->Write(step, values);
}

void Report::Checkpoint(int64_t step, const std::string& path, double seconds) {
  if (!speaks_) return;
  console_->Line(StrCat("checkpoint  step ", step, "  ", path, Format("  %.2f s", seconds)));
  Write("checkpoint", {{"step", step}, {"path", path}, {"seconds", seconds}});
}

void Report::Choice(const ExchangeChoice& choice) {
  if (!speaks_) return;
  for (const std::string& line : LinesOf(choice)) console_->Line(line);
  Write("auto", RecordOf(choice));
}

void Report::End(int64_t step, double epoch, const std::string& reason) {
  if (!speaks_) return;
  console_->Line(StrCat(reason, " at step ", step, Format(", epoch %.2f", epoch)));
  Write("end", {{"step", step}, {"epoch", epoch}, {"reason", reason}});
}

void Report::Note(const std::string& text) {
  if (speaks_) console_->Line(text);
}

}  // namespace gf
