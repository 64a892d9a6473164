#pragma once

#include <sys/types.h>

#include <functional>

namespace gf {

// A copy of this process, made by fork, that survives it. The copy is in a new session, which
// signals to this process's group do not reach, and ignores the signals that people and batch
// systems send. It sees memory as it was when it was made, and has one thread. Sockets and pipes
// are closed in it, apart from the standard streams, which mpirun and others read until the last
// process has closed them.
class Survivor {
 public:
  enum class Reason {
    kDeadline,  // the process is still there after `patience_s` seconds
    kOrphaned,  // it has ended without a call of Dismiss
  };
  // Runs in the copy. Returns, after kDeadline, whether the copy goes on to wait for kOrphaned;
  // otherwise the copy ends. It must not start threads, nor take locks that other threads may have
  // held during the fork; memory may be allocated.
  using Body = std::function<bool(Reason)>;

  // Makes the copy. `speaks_to`: the file that is its standard output and error; -1: those of this
  // process. Throws std::system_error if no process can be made.
  Survivor(double patience_s, const Body& body, int speaks_to = -1);
  // Dismisses the copy.
  ~Survivor() { Dismiss(); }
  Survivor(const Survivor&) = delete;
  Survivor& operator=(const Survivor&) = delete;

  // Ends the copy without a further call of `body`. Returns when it has ended; if `body` has begun,
  // when it has returned, or after half a minute.
  void Dismiss();
  // Makes the copy call `body` with kOrphaned at once. Nothing waits for it.
  void Act();

 private:
  void LetGo();

  pid_t process_ = -1;
  int line_ = -1;  // to the copy; closes when this process ends
};

}  // namespace gf
