#include "predict/prediction_writer.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/printable.h"

namespace gf {
namespace {

// A number that reads back as the same FP32.
std::string Exact(float value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", static_cast<double>(value));
  return text;
}

std::string Percent(float share) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f %%", 100 * static_cast<double>(share));
  return text;
}

// A field of CSV: in quotes if it holds what separates fields or lines, with quotes doubled.
std::string Field(const std::string& text) {
  if (text.find_first_of("\",\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

PredictionFormat ParsePredictionFormat(const std::string& name) {
  if (name == "text") return PredictionFormat::kText;
  if (name == "csv") return PredictionFormat::kCsv;
  if (name == "json") return PredictionFormat::kJson;
  ThrowUserError("format is \"", name, "\", must be text, csv or json");
}

PredictionWriter::PredictionWriter(PredictionFormat format, int64_t most, FILE* out, bool values)
    : format_(format), most_(most), out_(out), values_(values) {
  if (format_ != PredictionFormat::kCsv) return;
  std::string header = "file,error";
  for (int64_t i = 1; i <= most_; ++i) {
    header += values_ ? StrCat(",label", i, ",value", i)
                      : StrCat(",label", i, ",class", i, ",probability", i);
  }
  Print(header + "\r\n");
}

void PredictionWriter::Write(const PredictionEntry& entry) {
  switch (format_) {
    case PredictionFormat::kText:
      return Print(Text(entry));
    case PredictionFormat::kCsv:
      return Print(Csv(entry));
    case PredictionFormat::kJson:
      return Print(Json(entry));
  }
}

std::string PredictionWriter::Text(const PredictionEntry& entry) const {
  std::string line = Printable(entry.file) + ": ";
  if (!entry.error.empty()) {
    line += "error: " + Printable(entry.error);
  } else if (entry.guesses.empty()) {
    line += "none";
  }
  for (size_t i = 0; i < entry.guesses.size(); ++i) {
    const Guess& guess = entry.guesses[i];
    line += StrCat(i == 0 ? "" : ", ", Printable(guess.label), " ",
                   values_ ? StrCat(guess.probability) : Percent(guess.probability));
  }
  return line + "\n";
}

std::string PredictionWriter::Csv(const PredictionEntry& entry) const {
  std::string line = Field(entry.file) + "," + Field(entry.error);
  for (const Guess& guess : entry.guesses) {
    line += StrCat(",", Field(guess.label), ",",
                   values_ ? std::string() : StrCat(guess.number, ","), Exact(guess.probability));
  }
  for (auto i = static_cast<int64_t>(entry.guesses.size()); i < most_; ++i) {
    line += values_ ? ",," : ",,,";
  }
  return line + "\r\n";
}

std::string PredictionWriter::Json(const PredictionEntry& entry) const {
  using json = nlohmann::ordered_json;
  json line = {{"file", entry.file}};
  if (!entry.error.empty()) {
    line["error"] = entry.error;
  } else {
    json guesses = json::array();
    for (const Guess& guess : entry.guesses) {
      json object;
      object["label"] = guess.label;
      if (!values_) object["class"] = guess.number;
      object[values_ ? "value" : "probability"] = static_cast<double>(guess.probability);
      guesses.push_back(object);
    }
    if (!values_ && !guesses.empty()) line.update(guesses.at(0));
    line[values_ ? "values" : "top"] = guesses;
  }
  return line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

void PredictionWriter::Print(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), out_);
}

}  // namespace gf
