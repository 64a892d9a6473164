#include "solvers/train/signals.h"

#include <glog/logging.h>

#include <csignal>

namespace gf {
namespace {

volatile std::sig_atomic_t stop = 0;
volatile std::sig_atomic_t checkpoint = 0;

void OnStop(int signal) {
  if (signal == SIGINT && stop != 0) {
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
  stop = 1;
}

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
  Install(SIGTERM, OnStop);
  Install(SIGINT, OnStop);
  Install(SIGUSR1, OnCheckpoint);
}

bool StopRequested() { return stop != 0; }
bool CheckpointRequested() { return checkpoint != 0; }
void ClearCheckpointRequest() { checkpoint = 0; }

}  // namespace gf
