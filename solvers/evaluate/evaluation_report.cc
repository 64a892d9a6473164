#include "solvers/evaluate/evaluation_report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/error.h"
#include "core/output_file.h"
#include "core/readable.h"
#include "core/telemetry/table.h"

namespace gf {
namespace {

std::string Percent(double share) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f %%", 100 * share);
  return text;
}

double Rate(const EvaluationReport& report) {
  return report.seconds > 0 ? static_cast<double>(report.tally.images()) / report.seconds : 0;
}

std::string ClassName(const EvaluationReport& report, int64_t i) {
  return i < static_cast<int64_t>(report.class_names.size()) ? report.class_names[i] : "";
}

// "n01440764 tench" or, without names, "7"; "nan" for scores that are no numbers.
std::string Described(const EvaluationReport& report, int64_t i) {
  if (i == Predictions::kNotANumber) return "nan";
  const std::string name = ClassName(report, i);
  return name.empty() ? std::to_string(i) : name;
}

// Nothing where there are no images of the class.
std::optional<double> ClassShare(const Tally& tally, int64_t i) {
  const int64_t images = tally.class_images()[i];
  if (images == 0) return std::nullopt;
  return static_cast<double>(tally.class_right()[i]) / static_cast<double>(images);
}

void PrintClasses(const EvaluationReport& report, FILE* out) {
  const Tally& tally = report.tally;
  std::fprintf(out, "\n  class      images     right      top-1  name\n");
  for (int64_t i = 0; i < tally.classes(); ++i) {
    const std::optional<double> share = ClassShare(tally, i);
    std::fprintf(
        out, "  %5lld  %10s  %8s  %9s  %s\n", static_cast<long long>(i),
        WithCommas(tally.class_images()[i]).c_str(), WithCommas(tally.class_right()[i]).c_str(),
        share.has_value() ? Percent(*share).c_str() : "none", ClassName(report, i).c_str());
  }
}

}  // namespace

void PrintEvaluation(const EvaluationReport& report, bool per_class, FILE* out) {
  const Tally& tally = report.tally;
  char text[64];
  std::vector<std::pair<std::string, std::string>> rows = {{"weights", report.weights},
                                                           {"data", report.data},
                                                           {"images", WithCommas(tally.images())},
                                                           {"top-1", Percent(tally.top1())}};
  if (tally.classes() > 5) rows.emplace_back("top-5", Percent(tally.top5()));
  std::snprintf(text, sizeof(text), "%.5f", tally.loss());
  rows.emplace_back("loss", text);
  std::snprintf(text, sizeof(text), "%.0f", Rate(report));
  rows.emplace_back("images/s", text);
  PrintTable(rows, out);
  if (per_class) PrintClasses(report, out);
  if (!report.confusions.empty()) {
    std::fprintf(out, "\n  images  taken for\n");
    for (const Confusion& confusion : report.confusions) {
      std::fprintf(out, "  %6s  %s -> %s\n", WithCommas(confusion.images).c_str(),
                   Described(report, confusion.label).c_str(),
                   Described(report, confusion.predicted).c_str());
    }
  }
  std::fflush(out);
}
void WriteEvaluation(const EvaluationReport& report, const std::string& file) {
  using json = nlohmann::ordered_json;
  const Tally& tally = report.tally;
  json root;
  root["weights"] = report.weights;
  root["data"] = report.data;
  root["images"] = tally.images();
  root["top1"] = tally.top1();
  root["top5"] = tally.classes() > 5 ? json(tally.top5()) : json(nullptr);
  root["loss"] = std::isfinite(tally.loss()) ? json(tally.loss()) : json(nullptr);
  root["images_per_s"] = Rate(report);
  root["classes"] = json::array();
  for (int64_t i = 0; i < tally.classes(); ++i) {
    json entry = {{"class", i}};
    if (!report.class_names.empty()) entry["name"] = ClassName(report, i);
    entry["images"] = tally.class_images()[i];
    entry["right"] = tally.class_right()[i];
    const std::optional<double> share = ClassShare(tally, i);
    entry["top1"] = share.has_value() ? json(*share) : json(nullptr);
    root["classes"].push_back(entry);
  }
  root["confusions"] = json::array();
  for (const Confusion& confusion : report.confusions) {
    root["confusions"].push_back(
        {{"class", confusion.label},
         {"taken_for", confusion.predicted < 0 ? json(nullptr) : json(confusion.predicted)},
         {"images", confusion.images}});
  }
  ReplaceFile(file, root.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
}

void WriteMisclassified(const Predictions& predictions,
                        const std::function<std::string(int64_t)>& where,
                        const std::function<int64_t(int64_t)>& label, const std::string& file) {
  ReplaceFile(file, [&](OutputFile* out) {
    for (int64_t i = 0; i < predictions.images(); ++i) {
      const int64_t predicted = predictions.of(i);
      if (predicted == Predictions::kNone || predicted == label(i)) continue;
      const std::string name =
          predicted == Predictions::kNotANumber ? "nan" : std::to_string(predicted);
      out->Write(StrCat(where(i), "\t", label(i), "\t", name, "\n"));
    }
  });
}

}  // namespace gf
