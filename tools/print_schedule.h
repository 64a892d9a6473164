#pragma once

#include <cstdint>
#include <cstdio>

#include "core/config/job.pb.h"

namespace gf {

// Prints the schedule of a job on so many ranks as CSV: a line for every `interval`-th step, for
// the last one, and for each at which the number of images changes.
//   step    counted from 0, as the learning rate's formulas do
//   epoch   passes over the data before it
//   lr      its learning rate
//   images  that it takes on all ranks
//   density share of chunks (comm.mode SPARSE) or of a large weight's gradients (TOPK) that a rank
//           sends; 1 in other modes
// Opens the data only where train_data.images does not say how many there are. Throws UserError.
void PrintSchedule(const JobConfig& config, int ranks, int64_t interval, FILE* out);

}  // namespace gf
