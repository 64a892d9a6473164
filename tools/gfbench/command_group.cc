#include "tools/gfbench/command_group.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include "core/error.h"

namespace gf {
namespace {

using Clock = std::chrono::steady_clock;

// Note [Guard]
// A process that is killed cannot kill others, and the system tells only its children of its end,
// not theirs. So the group's first process is a guard that waits on a pipe: its other end closes
// with this process, whatever ends it.
constexpr char kGuard[] = "trap '' HUP INT TERM; read -r _; kill -s KILL 0";

void Check(int error, const char* what) {
  if (error != 0) ThrowUserError("cannot start a process: ", what, ": ", std::strerror(error));
}

// A pipe's ends, to read from and to write to, that no other process inherits.
std::pair<FileDescriptor, FileDescriptor> NewPipe() {
  int ends[2];
  Check(pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno, "pipe");
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

// The standard streams of a process; -1: /dev/null.
struct Streams {
  int input, output;
};

// Starts the shell in the group of process `group`; 0: in a new one.
pid_t Spawn(const char* script, pid_t group, const Streams& streams) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const auto connect = [&](int from, int to, int mode) {
    if (from >= 0) {
      posix_spawn_file_actions_adddup2(&actions, from, to);
    } else {
      posix_spawn_file_actions_addopen(&actions, to, "/dev/null", mode, 0);
    }
  };
  // A pipe may have the number of a standard stream: before that is opened, the pipe is copied.
  if (streams.input >= 0) connect(streams.input, STDIN_FILENO, O_RDONLY);
  connect(streams.output, STDOUT_FILENO, O_WRONLY);
  connect(streams.output, STDERR_FILENO, O_WRONLY);
  if (streams.input < 0) connect(-1, STDIN_FILENO, O_RDONLY);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, group);
  const char* const words[] = {"sh", "-c", script, nullptr};
  pid_t process = -1;
  const int error = posix_spawn(&process, "/bin/sh", &actions, &attributes,
                                const_cast<char* const*>(words), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  Check(error, "/bin/sh");
  return process;
}

// The output that is kept: its end.
constexpr size_t kKept = size_t{1} << 20;

// After the end of the command, a process that it has left in the background may hold its output
// open for no longer than this.
constexpr double kStragglers_s = 1;

// Waits for the end of a child until then; returns whether it has ended.
bool Reap(pid_t process, Clock::time_point end, int* status) {
  constexpr std::chrono::milliseconds kNap(2);
  while (waitpid(process, status, WNOHANG) == 0) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(kNap);
  }
  return true;
}

Clock::time_point After(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

CommandGroup::CommandGroup(const std::string& command) {
  auto [guard_input, lifeline] = NewPipe();
  auto [output, command_output] = NewPipe();
  guard_ = Spawn(kGuard, 0, {guard_input.get(), -1});
  lifeline_ = std::move(lifeline);
  output_pipe_ = std::move(output);
  try {
    command_ = Spawn(command.c_str(), guard_, {-1, command_output.get()});
  } catch (...) {
    Kill();
    throw;
  }
}

bool CommandGroup::WaitFor(double seconds) {
  constexpr double kNap_ms = 50;
  const Clock::time_point end = After(seconds);
  while (output_pipe_.get() >= 0) {
    Reaped(Clock::now());
    const bool late = command_ < 0 && Clock::now() >= stragglers_end_;
    const std::chrono::duration<double, std::milli> left = end - Clock::now();
    pollfd event = {output_pipe_.get(), POLLIN, 0};
    const int ready = poll(&event, 1, static_cast<int>(std::clamp(left.count() + 1, 0.0, kNap_ms)));
    if (late || (ready > 0 && !ReadSome())) output_pipe_ = FileDescriptor();
    if (output_pipe_.get() >= 0 && Clock::now() >= end) return false;
  }
  return Reaped(end);
}

bool CommandGroup::Reaped(std::chrono::steady_clock::time_point end) {
  int status = 0;
  if (command_ < 0) return true;
  if (!Reap(command_, end, &status)) return false;
  command_ = -1;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  stragglers_end_ = After(kStragglers_s);
  return true;
}

bool CommandGroup::ReadSome() {
  char part[4096];
  const ssize_t some = read(output_pipe_.get(), part, sizeof(part));
  if (some > 0) output_.append(part, some);
  if (output_.size() > 2 * kKept) output_.erase(0, output_.size() - kKept);
  return some != 0;
}

void CommandGroup::Kill() {
  if (guard_ < 0) return;
  // The guard is a child, so until it is reaped no other group can have its number.
  kill(-guard_, SIGKILL);
  // A process that waits for a broken disk cannot die.
  constexpr double kPatience_s = 5;
  const Clock::time_point end = After(kPatience_s);
  int status;
  if (command_ >= 0) Reap(command_, end, &status);
  Reap(guard_, end, &status);
  command_ = guard_ = -1;
}

}  // namespace gf
