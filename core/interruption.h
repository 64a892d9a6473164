#pragma once

#include <csignal>
#include <iterator>

namespace gf {

// A signal asked the program to end while an InterruptionGuard lived. RunMain (core/error.h) ends
// the process by that signal, without a message, once the stack is unwound.
struct Interrupted {
  int signal;
};

// For work that leaves something to tidy up: while an object lives, SIGINT, SIGTERM and SIGHUP do
// not end the process, but the next Check throws Interrupted. A second SIGINT ends it at once.
// Ignored signals stay ignored. Only one object may live at a time.
class InterruptionGuard {
 public:
  InterruptionGuard();
  // If a signal came and Check has not thrown, the signal takes effect now.
  ~InterruptionGuard();
  InterruptionGuard(const InterruptionGuard&) = delete;
  InterruptionGuard& operator=(const InterruptionGuard&) = delete;

  void Check() const;

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[std::size(kSignals)];
};

}  // namespace gf
