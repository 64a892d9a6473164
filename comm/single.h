#pragma once

#include <memory>

#include "comm/communicator.h"

namespace gf {

// A world of one rank.
std::unique_ptr<Communicator> NewSingleCommunicator();

}  // namespace gf
