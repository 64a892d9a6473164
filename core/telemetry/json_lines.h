#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/output_file.h"

namespace gf {

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

}  // namespace gf
