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

  // The command's standard output and error, at least the last MiB.
  const std::string& output() const { return output_; }
  // Once the command has ended: its exit code, or 128 + the signal that ended it.
  int exit_code() const { return exit_code_; }

 private:
  // Returns whether the command has ended; waits for that until `end`.
  bool Reaped(std::chrono::steady_clock::time_point end);
  // Returns false at the end of the output.
  bool ReadSome();

  FileDescriptor lifeline_;     // the guard's standard input
  FileDescriptor output_pipe_;  // -1 after the last of the output
  pid_t guard_ = -1, command_ = -1;
  std::string output_;
  std::chrono::steady_clock::time_point stragglers_end_;  // once the command has ended
  int exit_code_ = 0;
};

}  // namespace gf
