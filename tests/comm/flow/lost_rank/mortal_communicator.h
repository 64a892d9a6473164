#pragma once

#include <memory>
#include <string>

#include "comm/communicator.h"

namespace gf {

// When a process is to get a signal from itself.
struct Death {
  enum Moment {
    kBefore,   // the collective: this rank sends nothing of it
    kInside,   // an encoded sum: after the all-to-all, before the sum of this rank's part
    kHalfway,  // an encoded sum: after the sum, before the allgather
    kAfter,    // the collective: all of it is done on this rank
  };

  Moment moment = kBefore;
  std::string label;  // of the collective: its beginning, where "*" stands for anything
  std::string since;  // the beginning of the label of an earlier one; empty: from the start
  int signal = 0;     // SIGKILL or SIGSTOP
};

// `inner`, whose rank dies as planned, at the first such collective after the one of `since`.
// Until then its links carry `bytes_per_s`; 0: as many as they can. Belongs below the communication
// thread.
std::unique_ptr<Communicator> NewMortalCommunicator(std::unique_ptr<Communicator> inner,
                                                    const Death& death, double bytes_per_s);

}  // namespace gf
