#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace gf {

// A class that an image may show, or a value of it.
struct Guess {
  int64_t number = 0;
  std::string label;      // its name, or its number
  float probability = 0;  // or the value
};

// What is printed of an image.
struct PredictionEntry {
  std::string file;
  std::string error;           // why there are no guesses; "" = there are
  std::vector<Guess> guesses;  // most likely first; values in their order
};

enum class PredictionFormat {
  kText,  // a line for people, without control characters
  kCsv,   // RFC 4180 with a header; bytes of names stay as they are
  kJson,  // an object per line; bytes that are not UTF-8 become U+FFFD
};

// "text", "csv", "json". Throws UserError for another name.
PredictionFormat ParsePredictionFormat(const std::string& name);

// Prints entries as they come.
class PredictionWriter {
 public:
  // `most`: guesses per entry at most, which CSV makes columns of. `values`: guesses are values.
  // `out` outlives the object.
  PredictionWriter(PredictionFormat format, int64_t most, FILE* out, bool values = false);

  void Write(const PredictionEntry& entry);

 private:
  std::string Text(const PredictionEntry& entry) const;
  std::string Csv(const PredictionEntry& entry) const;
  std::string Json(const PredictionEntry& entry) const;
  void Print(const std::string& line);

  const PredictionFormat format_;
  const int64_t most_;
  FILE* const out_;
  const bool values_;
};

}  // namespace gf
