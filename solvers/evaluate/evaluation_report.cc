#include "solvers/evaluate/evaluation_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/error.h"
#include "core/output_file.h"
#include "core/readable.h"
#include "core/telemetry/table.h"

namespace gf {
namespace {

double Rate(const EvaluationReport& report) {
  return report.seconds > 0 ? static_cast<double>(report.tally->images()) / report.seconds : 0;
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

// JSON has no NaN and infinity.
nlohmann::ordered_json JsonOf(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return *value;
}

nlohmann::ordered_json JsonOf(const Figure& figure) {
  if (figure.kind != Figure::kCount || !figure.value) return JsonOf(figure.value);
  return static_cast<int64_t>(*figure.value);
}

// A table of the classes or values. Columns of counts and of other figures differ in width.
void PrintOutputs(const EvaluationReport& report, FILE* out) {
  const Tally& tally = *report.tally;
  const auto print = [out](const std::vector<Figure>& figures, bool header) {
    for (size_t i = 0; i < figures.size(); ++i) {
      const int width = (figures[i].kind == Figure::kCount ? 8 : 9) + (i == 0 ? 2 : 0);
      const std::string text = header ? figures[i].name : FigureText(figures[i]);
      std::fprintf(out, "  %*s", width, text.c_str());
    }
  };
  std::fprintf(out, "\n  %s", tally.outputs_are_values() ? "value" : "class");
  if (tally.outputs() > 0) print(tally.FiguresOf(0), true);
  std::fprintf(out, "  name\n");
  for (int64_t i = 0; i < tally.outputs(); ++i) {
    std::fprintf(out, "  %5lld", static_cast<long long>(i));
    print(tally.FiguresOf(i), false);
    std::fprintf(out, "  %s\n", ClassName(report, i).c_str());
  }
}

}  // namespace

void PrintEvaluation(const EvaluationReport& report, bool per_class, FILE* out) {
  const Tally& tally = *report.tally;
  char text[64];
  std::vector<std::pair<std::string, std::string>> rows = {
      {"weights", report.weights}, {"data", report.data}, {"images", WithCommas(tally.images())}};
  for (const Figure& figure : tally.Figures()) {
    if (figure.value) rows.emplace_back(figure.name, FigureText(figure));
  }
  std::snprintf(text, sizeof(text), "%.5f", tally.loss());
  rows.emplace_back("loss", text);
  std::snprintf(text, sizeof(text), "%.0f", Rate(report));
  rows.emplace_back("images/s", text);
  PrintTable(rows, out);
  if (per_class) PrintOutputs(report, out);
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
  const Tally& tally = *report.tally;
  json root;
  root["weights"] = report.weights;
  root["data"] = report.data;
  root["images"] = tally.images();
  for (const Figure& figure : tally.Figures()) root[figure.key] = JsonOf(figure);
  root["loss"] = JsonOf(tally.loss());
  root["images_per_s"] = Rate(report);
  const bool values = tally.outputs_are_values();
  json outputs = json::array();
  for (int64_t i = 0; i < tally.outputs(); ++i) {
    json entry = {{values ? "value" : "class", i}};
    if (!report.class_names.empty()) entry["name"] = ClassName(report, i);
    for (const Figure& figure : tally.FiguresOf(i)) entry[figure.key] = JsonOf(figure);
    outputs.push_back(entry);
  }
  root[values ? "values" : "classes"] = outputs;
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
