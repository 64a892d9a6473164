#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "core/file_descriptor.h"

namespace gf {

// A command that the shell runs, with the processes that it starts in a group of their own. What is
// left of the group is killed when this object ends, and when this process does, even by SIGKILL.
// Standard input is empty.
class CommandGroup {
 public:
  // Starts the command. Throws UserError if the system makes no process or pipe.
  explicit CommandGroup(const std::string& command);
  ~CommandGroup() { Kill(); }
  CommandGroup(const CommandGroup&) = delete;
  CommandGroup& operator=(const CommandGroup&) = delete;

  // Returns whether the command has ended; waits `seconds` at most for that. The output of
  // processes that it has left in the background is awaited for a second.
  bool WaitFor(double seconds);
  // Kills the group.
  void Kill();

  // What the command has written to standard output and error: the last MiB at least.
  const std::string& output() const { return output_; }
  // Once the command has ended: its exit code, or 128 + the signal that ended it.
  int exit_code() const { return exit_code_; }

 private:
  FileDescriptor lifeline_;     // the guard's standard input
  FileDescriptor output_pipe_;  // -1 after the last of the output
  pid_t guard_ = -1, command_ = -1;
  bool Reaped(std::chrono::steady_clock::time_point end);
  bool ReadSome();

  std::string output_;
  std::chrono::steady_clock::time_point stragglers_end_;
  int exit_code_ = 0;
};

}  // namespace gf
