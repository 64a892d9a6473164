#pragma once

#include <string>

#include "core/interruption.h"

namespace gf {

// A folder that appears under its name only when it is complete: it is filled under a
// temporary name beside it. Signals that end the program wait for CheckInterruption.
class OutputFolder {
 public:
  // Throws UserError if `path` cannot be written, or holds something and not `force`.
  OutputFolder(const std::string& path, bool force);
  // Removes what was written, unless Finish was called.
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  // Where to write now.
  const std::string& temporary() const { return temporary_; }
  // Call it between records: throws Interrupted if a signal has asked the program to end.
  void CheckInterruption() const { interruption_.Check(); }
  // Moves the folder to its name. What was there (force) is kept as "<path>.old"; returns
  // that name, or nothing if nothing was there.
  std::string Finish();

 private:
  const InterruptionGuard interruption_;
  std::string path_, temporary_;
  bool finished_ = false;
};

}  // namespace gf
