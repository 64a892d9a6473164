#include "simulate/measured_run.h"

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "core/error.h"
#include "core/file.h"
#include "core/folder.h"
#include "core/median.h"
#include "core/readable.h"
#include "simulate/cluster.h"

namespace gf {
namespace {

using Json = nlohmann::json;

// Progress lines since the last start.
struct Lines {
  std::string where;  // "log:line" of the start
  int ranks = 0;
  double images = 0;
  std::vector<double> rates, waits, exposed;  // by line: images/s, fraction, ms
};

std::string TextOf(const Json& settings, const char* name) {
  const auto found = settings.find(name);
  return found != settings.end() && found->is_string() ? found->get<std::string>() : "";
}

// The number at the front of "4 on 1 host" or "1,024".
double LeadingNumber(const std::string& text) {
  std::string digits;
  for (const char c : text) {
    if (c == ',') continue;
    if (!std::isdigit(static_cast<unsigned char>(c)) || digits.size() == 15) break;
    digits += c;
  }
  return std::atof(digits.c_str());
}

void Start(const Json& record, const std::string& where, Lines* lines) {
  *lines = Lines();
  lines->where = where;
  const auto settings = record.find("settings");
  if (settings == record.end() || !settings->is_object()) {
    ThrowUserError(where, ": the start has no settings: is it the log of a gftrain job?");
  }
  const std::string images = TextOf(*settings, "images per step");
  const double ranks = LeadingNumber(TextOf(*settings, "ranks"));
  if (ranks < 1 || ranks > kMostRanks) {
    ThrowUserError(where, ": the settings have no number of ranks from 1 to ", kMostRanks);
  }
  if (images.find("at first") != std::string::npos) {
    ThrowUserError(where,
                   ": the run changes its batch (solver.batch_phase), so its steps cannot be "
                   "compared with one simulated step");
  }
  lines->ranks = static_cast<int>(ranks);
  lines->images = LeadingNumber(images);
  if (lines->images < 1) ThrowUserError(where, ": the settings have no \"images per step\"");
}

void Progress(const Json& record, Lines* lines) {
  const auto number = [&](const char* name, double most) {
    const auto found = record.find(name);
    const double value = found != record.end() && found->is_number() ? found->get<double>() : -1;
    return value >= 0 && value <= most ? value : -1;
  };
  const double rate = number("images_per_s", 1e12), wait = number("data_wait", 1),
               exposed = number("comm_ms", 1e9);
  if (rate <= 0 || wait < 0 || exposed < 0) return;
  lines->rates.push_back(rate);
  lines->waits.push_back(wait);
  lines->exposed.push_back(exposed);
}

Lines ReadLines(const std::string& log) {
  constexpr int64_t kMostBytes = int64_t{1} << 30;
  Lines lines;
  std::istringstream in(ReadSmallFile(log, kMostBytes));
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    const std::string where = StrCat(log, ":", ++number);
    if (line.empty()) continue;
    const Json record = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!record.is_object()) {
      if (in.peek() == std::istringstream::traits_type::eof()) break;  // is being written
      ThrowUserError(where, ": not a JSON object: is it the log of a gftrain job?");
    }
    const std::string kind = TextOf(record, "kind");
    if (kind == "start") Start(record, where, &lines);
    if (kind == "train") Progress(record, &lines);
  }
  return lines;
}

}  // namespace

std::string LogOf(const std::string& path) { return IsFolder(path) ? path + "/log.jsonl" : path; }

std::string ConfigBeside(const std::string& log) {
  return (std::filesystem::path(log).parent_path() / "config.prototxt").string();
}

MeasuredRun ReadMeasuredRun(const std::string& log) {
  Lines lines = ReadLines(log);
  if (lines.where.empty()) {
    ThrowUserError(log, ": no start is logged: is it the log of a gftrain job (--run_dir)?");
  }
  if (lines.rates.size() < 2) {
    ThrowUserError(lines.where, ": the run has logged ",
                   Counted(static_cast<int64_t>(lines.rates.size()), "interval"),
                   " since this start, expected at least 2: let it run longer, or lower "
                   "telemetry.display_interval");
  }
  for (auto* values : {&lines.rates, &lines.waits, &lines.exposed}) values->erase(values->begin());
  MeasuredRun run;
  run.ranks = lines.ranks;
  run.images_per_step = lines.images;
  run.lines = static_cast<int>(lines.rates.size());
  run.step_s = lines.images / Median(lines.rates);
  run.exposed_s = Median(lines.exposed) * 1e-3;
  run.data_s = Median(lines.waits) * run.step_s;
  return run;
}

}  // namespace gf
