#pragma once

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "core/output_file.h"

namespace gf {

// Whether a stream of this process ends at a terminal. mpirun gives its processes a terminal of
// their own even when its output goes to a file, so there its output decides.
bool IsTerminal(FILE* out);

// A line of progress: on a terminal it is rewritten in place, in a file each call is a line.
class Console {
 public:
  explicit Console(FILE* out);
  // Leaves the last line of progress on the screen.
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // A line that may be overwritten by the next one.
  void Progress(const std::string& line);
  // A line that stays.
  void Line(const std::string& line);

 private:
  FILE* out_;
  bool terminal_;
  size_t pending_ = 0;  // columns of the line of progress on the screen
};

// Appends JSON objects, one per line, each flushed when written. An empty path writes none. A
// disk that is full later ends the log with a line on standard error, not the training.
class JsonLines {
 public:
  // Throws UserError if the file cannot be opened for appending.
  explicit JsonLines(const std::string& path);

  void Write(const nlohmann::ordered_json& record);

 private:
  std::unique_ptr<OutputFile> file_;  // null: nothing is written, or no more
};

// "1.23 GB", "512 B"; "1h02m", "3m20s", "12 s"; "61,100,840"
std::string HumanBytes(double bytes);
std::string HumanSeconds(double seconds);
std::string WithCommas(int64_t value);

}  // namespace gf
