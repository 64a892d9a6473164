#pragma once

#include <csignal>

namespace gf {

// While it lives, SIGTERM and SIGINT ask for a checkpoint and the end of training, SIGUSR1
// for a checkpoint. A second SIGINT ends the process at once. One object at a time.
class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  bool stop_requested() const;
  // The same, without an object: also after its end.
  static bool StopRequested();
  bool checkpoint_requested() const;
  // Once the checkpoint is written.
  void ClearCheckpointRequest();

 private:
  struct sigaction old_term_, old_int_, old_usr1_;
};

}  // namespace gf
