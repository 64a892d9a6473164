#include "simulate/suggest.h"

#include <algorithm>

#include "core/config/solver_facts.h"
#include "core/error.h"

namespace gf {

std::vector<Suggestion> Suggest(const SimulatedJob& job) {
  constexpr int64_t kKilo = 1024, kMega = kKilo * kKilo;
  std::vector<Suggestion> all;
  const auto run = [&](std::vector<std::string> settings) {
    SimulatedJob changed = job;
    for (const std::string& setting : settings) SetField(setting, &changed.config);
    all.push_back({std::move(settings), Simulator(changed).Run()});
  };
  run({});
  const CommConfig& comm = job.config.comm();
  const SolverConfig& solver = job.config.solver();
  const bool sparse = comm.mode() == CommConfig::SPARSE;
  const bool dense = comm.mode() < CommConfig::SPARSE;
  const bool can_shard = dense && SolverFactsOf(solver.type()).norms == SolverFacts::kNoNorms &&
                         solver.loss_scale().policy() == LossScaleConfig::NONE;
  for (const char* algorithm : {"ring", "auto"}) {
    for (const bool sharded : {false, true}) {
      if (sharded && (!can_shard || std::string(algorithm) == "auto")) continue;
      for (const int64_t theta : {kMega / 4, kMega, 4 * kMega, 16 * kMega, 64 * kMega}) {
        for (const int64_t last : {64 * kKilo, kMega, 8 * kMega}) {
          if (sparse && last != kMega) continue;  // SPARSE has no separate last threshold
          std::vector<std::string> settings = {StrCat("comm.algorithm=", algorithm),
                                               StrCat("comm.threshold_first=", theta),
                                               StrCat("comm.threshold_middle=", theta)};
          if (dense) settings.insert(settings.begin(), "comm.mode=LAZY");
          if (!sparse) settings.push_back(StrCat("comm.threshold_last=", last));
          if (comm.threshold_auto()) settings.push_back("comm.threshold_auto=false");
          if (sharded != comm.sharded_update()) {
            settings.push_back(StrCat("comm.sharded_update=", sharded ? "true" : "false"));
          }
          run(std::move(settings));
        }
      }
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Suggestion& a, const Suggestion& b) {
    return a.run.step.total() < b.run.step.total();
  });
  return all;
}

}  // namespace gf
