#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/config/job.pb.h"

namespace gf {

// The characters that separate labels in a text.
constexpr char kLabelSeparators[] = " \t\r\n\v\f,;";

// The words of a text, between kLabelSeparators. A word in double quotes may hold these; in it two
// quotes stand for one. Throws UserError, without the place, for quotes that do not end.
std::vector<std::string> LabelWords(std::string_view text);

// Takes the quoted word with which `text` begins.
std::string TakeQuoted(std::string_view* text);

// Whether a text holds several numbers where one label is expected.
bool HoldsSeveralLabels(std::string_view text);

// Whether a word is written as a number, even as one that is not finite.
bool IsNumberWord(std::string_view word);

// Labels as the text of a .cls file; numbers read back as the same FP32.
std::string LabelText(const std::vector<float>& labels);

// The labels of images as numbers, from their words.
class LabelParser {
 public:
  // `names`: of the classes by number, which may stand for numbers; none = numbers only. A word
  // that is a class index is never a name.
  LabelParser(const LabelConfig& labels, const std::vector<std::string>& names);

  // The labels of one image. CLASS: its class. CLASSES: its classes in ascending order, each once.
  // VALUES: its numbers, labels.count of them or, if that is 0, the count of the first image.
  // Throws a UserError with the word, the expected words and the remedy, without the place.
  std::vector<float> Parse(const std::vector<std::string>& words);

  // CLASS, CLASSES: the largest class so far + 1; labels.count if that is set. VALUES: numbers per
  // image.
  int64_t classes() const { return classes_; }

 private:
  float Class(const std::string& word) const;
  std::vector<float> Values(const std::vector<std::string>& words);

  const LabelConfig::Type type_;
  const int64_t count_;  // 0 = open
  int64_t named_;        // classes with names
  std::unordered_map<std::string, int64_t> numbers_;
  int64_t classes_ = 0;
};

// The labels of many images.
class LabelTable {
 public:
  void Add(const std::vector<float>& labels) {
    numbers_.insert(numbers_.end(), labels.begin(), labels.end());
    ends_.push_back(numbers_.size());
  }
  int64_t images() const { return static_cast<int64_t>(ends_.size()); }
  void Get(int64_t image, std::vector<float>* labels) const {
    const float* const all = numbers_.data();
    labels->assign(all + (image == 0 ? 0 : ends_[image - 1]), all + ends_[image]);
  }

 private:
  // A class is exact in FP32: it is below kMaxClasses.
  std::vector<float> numbers_;
  std::vector<size_t> ends_;  // of each image's labels in numbers_
};

}  // namespace gf
