#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/output_file.h"

namespace gf {

// A new event file for TensorBoard: records "length, CRC, message, CRC" (TFRecord's framing), each
// flushed when written. An empty folder writes none. A disk that is full later ends the file with a
// line on standard error, not the training.
class EventFile {
 public:
  // events.out.tfevents.<seconds>.<host>.<process> in `folder`. Throws UserError if it cannot be
  // written.
  explicit EventFile(const std::string& folder);
  // Names ("train/loss") and values of a step.
  void Write(int64_t step, const std::vector<std::pair<std::string, double>>& scalars);

 private:
  void Append(const std::string& message);

  std::unique_ptr<OutputFile> file_;  // null: nothing is written, or no more
};

}  // namespace gf
