#pragma once

#include <functional>
#include <memory>

#include "comm/communicator.h"

namespace gf {

// Gives a communicator a thread of its own, which makes it and alone calls it afterwards. The
// blocking calls wait for the thread; Start does not. Calls are done in the order in which they
// were made. After the first error every later call ends with the same one. `make` may throw: so
// does this.
std::unique_ptr<Communicator> NewThreadedCommunicator(
    const std::function<std::unique_ptr<Communicator>()>& make);

}  // namespace gf
