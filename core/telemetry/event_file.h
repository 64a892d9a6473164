#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace gf {

// A new event file for TensorBoard: records "length, CRC, message, CRC" (TFRecord's framing), each
// flushed when written. An empty folder writes none.
class EventFile {
 public:
  // events.out.tfevents.<seconds>.<host>.<process> in `folder`. Throws UserError if it cannot be
  // written.
  explicit EventFile(const std::string& folder);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  // Names ("train/loss") and values of a step.
  void Write(int64_t step, const std::vector<std::pair<std::string, double>>& scalars);

 private:
  bool Append(const std::string& message);

  std::string path_;
  FILE* file_ = nullptr;
};

}  // namespace gf
