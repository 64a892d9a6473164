#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "comm/communicator.h"
#include "core/telemetry/timeline.h"

namespace gf {

// Puts the timelines of all ranks into one file, written by rank 0. All ranks call its functions
// together, after the same steps. Nothing happens without chosen steps.
class TimelineWriter {
 public:
  // `complete` is called before timelines are gathered: what is known of the steps only later comes
  // into them. Throws AgreedError if the file cannot be written. `timeline` and `comm` outlive the
  // object.
  TimelineWriter(const Timeline* timeline, StepRange steps, const std::string& path,
                 Communicator* comm, std::function<void()> complete);

  // `step` has ended. Writes after the last of the chosen steps; returns whether it did.
  bool AfterStep(int64_t step);

  // Training has ended: writes what there is, if the last chosen step has not come. Returns
  // whether it did.
  bool AtEnd();

 private:
  bool Write();

  const Timeline* const timeline_;
  const StepRange steps_;
  const std::string path_;
  Communicator* const comm_;
  const std::function<void()> complete_;
  bool written_ = false;
};

}  // namespace gf
