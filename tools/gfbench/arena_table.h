#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/gfbench/training_steps.h"

namespace gf {

// What was measured of one method or peer.
struct ArenaRow {
  std::string name;
  std::string comm;      // the method's message; of a peer, its command
  std::string exchange;  // TrainingSteps::Describe; empty for a peer
  std::string taken;     // TrainingSteps::ChooseExchange
  bool peer = false;
  std::vector<std::vector<StepTimes>> rounds;  // a peer has one step per round, of which only
                                               // `step` counts
};

// Prints a line per row. The ratio to the first row, which exchanges nothing, is the median over
// the rounds of the ratio of their medians; everything else is the median over all steps. Returns
// the same figures.
nlohmann::ordered_json ReportArena(const std::vector<ArenaRow>& rows, int ranks, int batch);

}  // namespace gf
