#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace gf {

// A way to exchange gradients that comm.mode AUTO considers, and its price per step.
struct PricedRung {
  std::string name;       // "SPARSE 0.15"
  bool priced = false;    // whether the figures below are there; otherwise `verdict` says why not
  int power = 0;          // thresholds of buckets are the defaults times 4 to this power
  int64_t buckets = 0;    // collectives of gradients in a step
  int64_t bytes = 0;      // handed to collectives, see CommStats::wire_bytes
  double arithmetic = 0;  // seconds of the compressor
  double exposed = 0;     // seconds that the step waits for collectives
  double step = 0;        // seconds of the whole step
  double tried = 0;       // measured seconds of a step with it; 0: no step has tried it
  std::string verdict;    // for people
};

// The name of a rung with other thresholds, under which checkpoints keep it: "SPARSE 0.02 / 16",
// "LOW_RANK 1 * 4".
inline std::string FullName(const std::string& rung, int power) {
  if (power == 0) return rung;
  return rung + (power < 0 ? " / " : " * ") + std::to_string(1 << (2 * std::abs(power)));
}

// The choice of comm.mode AUTO and the figures behind it.
struct ExchangeChoice {
  int64_t step = 0;               // steps done before it holds
  double limit = 0, slower = 0;   // comm.auto.exposed, comm.auto.slower
  double compute = 0;             // seconds of a step in which nothing is exchanged
  std::string noted;              // the rung by which the first steps exchanged
  double noted_step = 0;          // seconds of one of these
  double scatter = 0;             // of the trials, relative; see ChooseTried
  std::vector<PricedRung> rungs;  // from mild to strong
  int chosen = 0;                 // of the rungs

  std::string taken() const { return FullName(rungs[chosen].name, rungs[chosen].power); }
};

}  // namespace gf
