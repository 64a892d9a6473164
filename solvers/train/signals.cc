#include "solvers/train/signals.h"

#include <glog/logging.h>

namespace gf {
namespace {

volatile std::sig_atomic_t stop = 0;
volatile std::sig_atomic_t checkpoint = 0;
volatile std::sig_atomic_t watching = 0;

void OnStop(int signal) {
  if (signal == SIGINT && stop != 0) {
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
  stop = 1;
}

void OnCheckpoint(int) { checkpoint = 1; }

void Install(int signal, void (*handler)(int), struct sigaction* old) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  PCHECK(sigaction(signal, &action, old) == 0);
}

}  // namespace

SignalWatch::SignalWatch() {
  CHECK_EQ(watching, 0);
  watching = 1;
  stop = checkpoint = 0;
  Install(SIGTERM, OnStop, &old_term_);
  Install(SIGINT, OnStop, &old_int_);
  Install(SIGUSR1, OnCheckpoint, &old_usr1_);
}

SignalWatch::~SignalWatch() {
  sigaction(SIGTERM, &old_term_, nullptr);
  sigaction(SIGINT, &old_int_, nullptr);
  sigaction(SIGUSR1, &old_usr1_, nullptr);
  watching = 0;
}

bool SignalWatch::StopRequested() { return stop != 0; }
bool SignalWatch::stop_requested() const { return StopRequested(); }
bool SignalWatch::checkpoint_requested() const { return checkpoint != 0; }
void SignalWatch::ClearCheckpointRequest() { checkpoint = 0; }

}  // namespace gf
