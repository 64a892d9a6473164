#pragma once

#include <memory>

#include "comm/communicator.h"
#include "core/group_sum.h"

namespace gf {

// Sums over groups of `size` consecutive ranks; 0 = all of them. Null for groups of one. `comm`
// outlives it. Throws UserError if the groups do not fill the world.
std::unique_ptr<GroupSum> NewGroupSum(int size, Communicator* comm);

}  // namespace gf
