#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "comm/mpi/watchdog.h"
#include "comm/transport.h"

namespace gf {

// Waits for non-blocking MPI operations under a deadline. When it draws near, the waiting rank
// asks all others what they are doing; the error names those that are silent or elsewhere. A rank
// answers questions while it waits. A rank that gives up tells all others, which then end with
// EndedByOther.
class MpiWaiter {
 public:
  // `timeout_s`: the deadline. The watchdog outlives the object.
  MpiWaiter(MpiWatchdog* watchdog, double timeout_s) : watchdog_(watchdog), timeout_s_(timeout_s) {}

  // Returns when the request is complete. `bytes`: how much travels; polls without sleeping for
  // about as long as that takes. Throws CommError.
  void Wait(MPI_Request* request, const std::string& operation, int64_t bytes);

  // Transport::Drive.
  void Drive(const std::function<Progress()>& advance, const std::string& operation, int64_t bytes);

 private:
  void Drive(const std::function<Progress()>& advance, const std::string& operation,
             double patience_s, std::chrono::microseconds nap);

  MpiWatchdog* const watchdog_;
  const double timeout_s_;
};

}  // namespace gf
