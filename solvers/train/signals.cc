#include "solvers/train/signals.h"

#include <fcntl.h>
#include <glog/logging.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace gf {
namespace {

volatile std::sig_atomic_t stop = 0;
volatile std::sig_atomic_t checkpoint = 0;

// Handlers write to it, one byte for each warning.
struct WarningPipe {
  WarningPipe() { PCHECK(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0); }
  int ends[2];
};

// Made in the first call, which is not a handler's.
const WarningPipe& Warnings() {
  static const WarningPipe pipe;
  return pipe;
}

void Warn(Warning warning) {
  const int error = errno;
  const char byte = static_cast<char>(warning);
  const ssize_t written = write(Warnings().ends[1], &byte, 1);
  static_cast<void>(written);  // the pipe is full of warnings
  errno = error;
}

void OnStop(int signal) {
  Warn(Warning::kEnds);
  if (signal == SIGINT && stop != 0) {
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
  stop = 1;
}

void OnContinue(int) { Warn(Warning::kMayEnd); }

void OnCheckpoint(int) { checkpoint = 1; }

void Install(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  PCHECK(sigaction(signal, &action, nullptr) == 0);
}

}  // namespace

void WatchSignals() {
  stop = checkpoint = 0;
  Warnings();
  Install(SIGTERM, OnStop);
  Install(SIGINT, OnStop);
  // nohup has it ignored.
  struct sigaction hangup = {};
  if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) {
    Install(SIGHUP, OnStop);
  }
  Install(SIGCONT, OnContinue);
  Install(SIGUSR1, OnCheckpoint);
}

bool StopRequested() { return stop != 0; }
bool CheckpointRequested() { return checkpoint != 0; }
void ClearCheckpointRequest() { checkpoint = 0; }

Warning WaitForWarning(int end) {
  pollfd events[] = {{Warnings().ends[0], POLLIN, 0}, {end, POLLIN, 0}};
  char byte = static_cast<char>(Warning::kNone);
  while (read(events[0].fd, &byte, 1) < 0 && (errno == EAGAIN || errno == EINTR)) {
    if (poll(events, 2, -1) > 0 && events[1].revents != 0) return Warning::kEnds;
  }
  return static_cast<Warning>(byte);
}

void EndWait() { Warn(Warning::kNone); }

}  // namespace gf
