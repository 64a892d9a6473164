#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gf {

// A way to exchange gradients that comm.mode AUTO considers, and its price per step.
struct PricedRung {
  std::string name;       // "SPARSE 0.15"
  bool priced = false;    // whether the figures below are there; otherwise `verdict` says why not
  int64_t bytes = 0;      // handed to collectives, see CommStats::wire_bytes
  double arithmetic = 0;  // seconds of the compressor
  double exposed = 0;     // seconds that the step waits for collectives
  double step = 0;        // seconds of the whole step
  std::string verdict;    // for people
};

// What comm.mode AUTO has decided, and by what.
struct ExchangeChoice {
  int64_t step = 0;               // steps done before it holds
  double limit = 0;               // comm.auto.exposed
  double compute = 0;             // seconds of a step in which nothing is exchanged
  double measured = 0;            // seconds of a LAZY step
  std::vector<PricedRung> rungs;  // from mild to strong
  int chosen = 0;                 // of the rungs
};

}  // namespace gf
