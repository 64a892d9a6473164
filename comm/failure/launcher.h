#pragma once

#include <sys/types.h>

#include "core/file_descriptor.h"

namespace gf {

// The mpirun that started this job, if it runs on this host, as a process that may end at any time.
class Launcher {
 public:
  // Finds it among the ancestors of this process.
  Launcher();

  // Whether there is one on this host that this process may watch.
  bool found() const { return process_.get() >= 0; }
  // A descriptor that can be read from as soon as it has ended; -1 if none was found.
  int descriptor() const { return process_.get(); }
  // Whether it has ended, or does so within `patience_s` seconds. True if none was found.
  bool Ended(double patience_s) const;
  // Ends it by SIGKILL: told by SIGTERM, mpirun waits again, and Open MPI 4.1's may crash. Returns
  // whether it has ended.
  bool End() const;
  // Its standard error, which outlives it; /dev/null if that cannot be opened. -1 if no mpirun was
  // found.
  int standard_error() const { return standard_error_.get(); }
  // Whether anybody reads mpirun's standard output; without mpirun, this process's own. False after
  // `mpirun ... | tee log` has lost its tee, and with Open MPI 5, where it may be false.
  bool OutputIsRead() const;

 private:
  FileDescriptor process_;  // a pidfd: never another process of the same number
  FileDescriptor standard_output_, standard_error_;
};

// Leaves a copy of this process behind which ends mpirun if it is still there after `patience_s`
// seconds. mpirun waits for ever for a host that cannot be reached. Must be called when this rank
// ends the job; does nothing in jobs on one host and on hosts without mpirun, and throws nothing.
void EndLauncherLater(double patience_s = 6);

}  // namespace gf
