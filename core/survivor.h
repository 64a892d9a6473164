#pragma once

#include <sys/types.h>

#include <functional>

namespace gf {

// A copy of this process, made by fork, that survives it: it has a session of its own, which
// signals to this process's group do not reach, and ignores SIGTERM, SIGINT and SIGHUP. It sees
// memory as it was when it was made, and has one thread. Sockets and pipes are closed in it, apart
// from the standard streams, which mpirun and others read until the last process has closed them.
class Survivor {
 public:
  enum class Reason {
    kOrphaned,  // the process has ended without a call of Dismiss
    kDeadline,  // it is still there
  };
  // Runs in the copy, which ends when it returns. It must not start threads, nor take locks that
  // other threads may have held during the fork; memory may be allocated.
  using Body = std::function<void(Reason)>;

  // Makes the copy. It waits for the end of this process, `patience_s` seconds at most, and calls
  // `body`. `speaks_to`: the file that is its standard output and error; -1: those of this process.
  // Throws std::system_error if no process can be made.
  Survivor(double patience_s, const Body& body, int speaks_to = -1);
  // Dismisses the copy.
  ~Survivor() { Dismiss(); }
  Survivor(const Survivor&) = delete;
  Survivor& operator=(const Survivor&) = delete;

  // Ends the copy without a call of `body`; returns when it has ended. If `body` has begun, waits
  // until it has returned.
  void Dismiss();
  // Makes the copy call `body` with kOrphaned at once. Nothing waits for it.
  void Act();

 private:
  void LetGo();

  pid_t process_ = -1;
  int line_ = -1;  // to the copy; closes when this process ends
};

}  // namespace gf
