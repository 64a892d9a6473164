#pragma once

#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.h"

namespace gf {

// Checks that all ranks gave the same list of names and values (names are unique). Otherwise
// throws UserError on every rank, which names what differs, the values (shortened), the ranks
// and hosts: `ranks disagree on solver.base_lr: 0.1 on ranks 0-2, 0.2 on rank 3 (host b)`.
void CheckSameOnAllRanks(Communicator* comm,
                         const std::vector<std::pair<std::string, std::string>>& items);

}  // namespace gf
