#pragma once

#include <functional>
#include <memory>

#include "comm/communicator.h"
#include "data/loader/loader.h"
#include "models/net.h"
#include "solvers/evaluate/predictions.h"
#include "solvers/evaluate/tally.h"

namespace gf {

// Runs a TEST net over all of a loader's data, each image once whatever the number of ranks,
// and returns the tally of all ranks for the loader's type of labels. The outputs
// are averages over the views that loader->test_flips() and test_shifts() ask for
// (AveragedOutputs). The loader stands at its start before and after. `stop` (may be null) is asked
// after each batch: as soon as it is true on any rank, all ranks give up and return null.
// `predictions` (may be null; of loader->size() images) gets what each image was taken for, on
// every rank.
std::unique_ptr<Tally> Evaluate(Net* net, Loader* loader, Communicator* comm,
                                const std::function<bool()>& stop,
                                Predictions* predictions = nullptr);

}  // namespace gf
