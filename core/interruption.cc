#include "core/interruption.h"

#include <glog/logging.h>

namespace gf {
namespace {

bool guarded = false;
volatile std::sig_atomic_t received = 0;  // the signal; 0 = none, or Check has thrown

void Receive(int signal) {
  if (signal == SIGINT && received == SIGINT) {
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
  received = signal;
}

}  // namespace

InterruptionGuard::InterruptionGuard() {
  CHECK(!guarded);
  guarded = true;
  received = 0;
  struct sigaction action = {};
  action.sa_handler = Receive;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    PCHECK(sigaction(kSignals[i], nullptr, &before_[i]) == 0);
    if (before_[i].sa_handler == SIG_IGN) continue;
    PCHECK(sigaction(kSignals[i], &action, nullptr) == 0);
  }
}

InterruptionGuard::~InterruptionGuard() {
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  guarded = false;
  if (received != 0) std::raise(received);
}

void InterruptionGuard::Check() const {
  if (received == 0) return;
  const Interrupted interrupted = {received};
  received = 0;
  throw interrupted;
}

}  // namespace gf
