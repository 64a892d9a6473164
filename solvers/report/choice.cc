#include "solvers/report/choice.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/readable.h"

namespace gf {
namespace {

constexpr double kMilli = 1e3;

std::string Ms(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", kMilli * seconds);
  return text;
}

std::string Row(const std::string& name, const std::string& buckets, const std::string& bytes,
                const std::string& arithmetic, const std::string& exposed, const std::string& step,
                const std::string& verdict) {
  char text[128];
  std::snprintf(text, sizeof(text), "  %-19s %7s %10s %14s %11s %10s  ", name.c_str(),
                buckets.c_str(), bytes.c_str(), arithmetic.c_str(), exposed.c_str(), step.c_str());
  return text + verdict;
}

std::string Scatter(const ExchangeChoice& choice) {
  if (choice.scatter <= choice.slower) return "";
  char text[80];
  std::snprintf(text, sizeof(text), ", here %.1f %% because trials scatter", 100 * choice.scatter);
  return text;
}

}  // namespace

std::vector<std::string> LinesOf(const ExchangeChoice& choice) {
  std::vector<std::string> lines = {
      StrCat("comm.mode AUTO", choice.step > 0 ? StrCat(" after step ", choice.step) : "", ": ",
             choice.taken()),
      StrCat("  compute ", Ms(choice.compute), " ms, a step with ", choice.noted, " took ",
             Ms(choice.noted_step), " ms"),
      StrCat("  at most ", 100 * choice.limit, " % of compute may be exposed, and a step may be ",
             100 * choice.slower, " % longer than the fastest", Scatter(choice)),
      Row("", "buckets", "sent", "arithmetic, ms", "exposed, ms", "step, ms", "verdict")};
  for (const PricedRung& rung : choice.rungs) {
    if (rung.priced) {
      lines.push_back(Row(rung.name, StrCat(rung.buckets),
                          HumanBytes(static_cast<double>(rung.bytes)), Ms(rung.arithmetic),
                          Ms(rung.exposed), Ms(rung.step), rung.verdict));
    } else {
      lines.push_back(Row(rung.name, "-", "-", "-", "-", "-", "left out: " + rung.verdict));
    }
  }
  return lines;
}

nlohmann::ordered_json RecordOf(const ExchangeChoice& choice) {
  nlohmann::ordered_json rungs = nlohmann::ordered_json::array();
  for (const PricedRung& rung : choice.rungs) {
    nlohmann::ordered_json row = {{"rung", rung.name}};
    if (rung.priced) {
      row.update({{"buckets", rung.buckets},
                  {"bytes", rung.bytes},
                  {"arithmetic_ms", kMilli * rung.arithmetic},
                  {"exposed_ms", kMilli * rung.exposed},
                  {"step_ms", kMilli * rung.step}});
    }
    if (rung.tried > 0) row["tried_ms"] = kMilli * rung.tried;
    row["verdict"] = rung.verdict;
    rungs.push_back(std::move(row));
  }
  return {{"step", choice.step},
          {"chosen", choice.taken()},
          {"exposed_limit", choice.limit},
          {"slower_limit", choice.slower},
          {"compute_ms", kMilli * choice.compute},
          {"first_steps", choice.noted},
          {"first_step_ms", kMilli * choice.noted_step},
          {"scatter", choice.scatter},
          {"rungs", std::move(rungs)}};
}

}  // namespace gf
