#pragma once

#include "comm/communicator.h"

namespace gf {

// The ranks of a test that mpirun starts; set by its main function.
extern Communicator* comm;

}  // namespace gf
