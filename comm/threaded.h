#pragma once

#include <functional>
#include <memory>

#include "comm/communicator.h"

namespace gf {

// Gives a communicator a thread of its own, which makes it and alone calls it afterwards. The
// blocking calls wait for the thread; Start does not. Calls are done in the order in which they
// were made. After the first error every later call ends with the same one. Remembers the last
// collectives (Watchdog::Guard, FlightRecorder). `make` may throw: so does this. If it takes longer
// than start_timeout_s, a message says so and the process ends with exit code 3: there is no way to
// get the thread back from MPI's start.
std::unique_ptr<Communicator> NewThreadedCommunicator(
    const std::function<std::unique_ptr<Communicator>()>& make, double start_timeout_s = 120);

}  // namespace gf
