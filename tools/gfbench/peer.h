#pragma once

#include <string>
#include <vector>

#include "comm/communicator.h"

namespace gf {

// A program of another framework that times the same steps, and the name that it has in gfbench
// arena.
struct Peer {
  std::string name, command;
};

// The peers of --peers: "NAME = COMMAND", separated by ";". Throws UserError, also for a wrong
// --peer_timeout_s.
std::vector<Peer> PeersOfFlags();

// Runs the peer's command by the shell, one process beside each rank, as torchrun would: RANK,
// WORLD_SIZE, MASTER_ADDR and MASTER_PORT tell the processes how to find each other. Returns the
// seconds of a step, from the last "step_ms": X that rank 0's process prints. Collective. Throws
// AgreedError if a process fails, runs for longer than --peer_timeout_s, or prints no figure; the
// processes of all ranks are killed then.
double RunPeer(const Peer& peer, Communicator* comm);

}  // namespace gf
