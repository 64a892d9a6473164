#include "data/formats/image_labels.h"

#include <algorithm>
#include <cfloat>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <system_error>

#include "core/error.h"
#include "core/printable.h"
#include "core/readable.h"
#include "data/formats/record_source.h"

namespace gf {
namespace {

constexpr int64_t kAmbiguous = -1;

// Whether a whole word is an integer 0, 1, ... of any length; too large ones give kMaxClasses.
bool ParseClass(std::string_view word, int64_t* value) {
  if (!word.empty() && word[0] == '+') word.remove_prefix(1);
  if (word.empty() || word.find_first_not_of("0123456789") != std::string_view::npos) return false;
  const auto result = std::from_chars(word.data(), word.data() + word.size(), *value);
  if (result.ec != std::errc()) *value = kMaxClasses;
  return true;
}

// Whether a whole word is a number; beyond FP64 it is infinite.
bool ParseNumber(std::string_view word, double* value) {
  if (!word.empty() && word[0] == '+') word.remove_prefix(1);
  if (word.empty()) return false;
  const auto result = std::from_chars(word.data(), word.data() + word.size(), *value);
  if (result.ptr != word.data() + word.size()) return false;
  if (result.ec == std::errc::result_out_of_range) *value = HUGE_VAL;
  return result.ec == std::errc() || result.ec == std::errc::result_out_of_range;
}

std::string Quoted(const std::string& word) { return StrCat("\"", Excerpt(word), "\""); }

}  // namespace

std::string TakeQuoted(std::string_view* text) {
  std::string word;
  for (size_t i = 1; i < text->size(); ++i) {
    if ((*text)[i] != '"') {
      word += (*text)[i];
    } else if (i + 1 < text->size() && (*text)[i + 1] == '"') {
      word += '"';
      ++i;
    } else {
      text->remove_prefix(i + 1);
      return word;
    }
  }
  ThrowUserError("a double quote without the one that ends the word: ", Quoted(std::string(*text)),
                 ": add it, or remove the first");
}

std::vector<std::string> LabelWords(std::string_view text) {
  std::vector<std::string> words;
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(kLabelSeparators), text.size()));
    if (text.empty()) return words;
    if (text[0] == '"') {
      words.push_back(TakeQuoted(&text));
      continue;
    }
    const size_t end = std::min(text.find_first_of(kLabelSeparators), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

bool HoldsSeveralLabels(std::string_view text) {
  if (text.find('"') != std::string_view::npos) return false;
  const std::vector<std::string> words = LabelWords(text);
  return words.size() > 1 && std::all_of(words.begin(), words.end(), IsNumberWord);
}

bool IsNumberWord(std::string_view word) {
  double value = 0;
  return ParseNumber(word, &value);
}

std::string LabelText(const std::vector<float>& labels) {
  std::string text;
  for (const float label : labels) {
    char number[32];
    std::snprintf(number, sizeof(number), "%.9g", static_cast<double>(label));
    text += StrCat(text.empty() ? "" : " ", number);
  }
  return text;
}

LabelParser::LabelParser(const LabelConfig& labels, const std::vector<std::string>& names)
    : type_(labels.type()),
      count_(type_ == LabelConfig::CLASS ? 0 : labels.count()),
      named_(type_ == LabelConfig::VALUES ? 0 : static_cast<int64_t>(names.size())),
      classes_(count_) {
  for (int64_t i = 0; i < named_; ++i) {
    const auto added = numbers_.emplace(names[i], i);
    if (!added.second) added.first->second = kAmbiguous;
  }
}

std::vector<float> LabelParser::Parse(const std::vector<std::string>& words) {
  if (type_ == LabelConfig::VALUES) return Values(words);
  if (type_ == LabelConfig::CLASS && words.size() != 1) {
    ThrowUserError(
        Counted(static_cast<int64_t>(words.size()), "label"), ", expected 1, the image's class",
        words.size() > 1 ? ": for several labels, set labels { type: CLASSES }, or VALUES"
                         : ": add it");
  }
  std::vector<float> labels;
  for (const std::string& word : words) labels.push_back(Class(word));
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  // Only now: the classes of an image that is refused do not count.
  if (!labels.empty()) classes_ = std::max(classes_, static_cast<int64_t>(labels.back()) + 1);
  return labels;
}

float LabelParser::Class(const std::string& word) const {
  int64_t number = 0;
  if (!ParseClass(word, &number)) {
    const auto found = numbers_.find(word);
    if (found == numbers_.end()) {
      ThrowUserError(
          Quoted(word), " is not a class, expected a class index 0, 1, ...",
          named_ > 0 ? StrCat(" or one of the ", named_, " names of the classes") : std::string(),
          ": correct it",
          named_ > 0 ? "" : "; names need a file of labels (labels.file) and classes.txt",
          IsNumberWord(word) ? "; for real numbers, set labels { type: VALUES }" : "");
    }
    if (found->second == kAmbiguous) {
      ThrowUserError(Quoted(word), " is the name of two classes, expected one: give the number");
    }
    number = found->second;
  }
  const int64_t end = count_ > 0 ? count_ : named_ > 0 ? named_ : kMaxClasses;
  if (number >= end) {
    ThrowUserError("class ", word.size() > 20 ? Quoted(word) : word, ", expected 0 to ", end - 1,
                   count_ > 0   ? ", the classes of labels.count"
                   : named_ > 0 ? ", the classes that have names"
                                : "",
                   ": correct it");
  }
  return static_cast<float>(number);
}

std::vector<float> LabelParser::Values(const std::vector<std::string>& words) {
  const auto count = static_cast<int64_t>(words.size());
  if (count == 0 || count > kMaxClasses || (classes_ > 0 && count != classes_)) {
    ThrowUserError(Counted(count, "value"), ", expected ",
                   classes_ > 0 ? StrCat(classes_) : StrCat("1 to ", kMaxClasses),
                   count_ > 0     ? ", labels.count"
                   : classes_ > 0 ? ", as the first image has"
                                  : "",
                   ": give the same number of values for each image");
  }
  std::vector<float> values;
  for (const std::string& word : words) {
    double value = 0;
    const bool is_number = ParseNumber(word, &value);
    if (!is_number || !(std::abs(value) <= FLT_MAX)) {
      ThrowUserError(Quoted(word), is_number ? " is not a finite FP32 number" : " is not a number",
                     ", expected one such as -1.5 or 2e-3: correct it, or leave the image out");
    }
    values.push_back(static_cast<float>(value));
  }
  classes_ = count;
  return values;
}

}  // namespace gf
