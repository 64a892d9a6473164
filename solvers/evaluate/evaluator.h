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
// and returns the tally of all ranks for the loader's type of labels. If loader->test_flips(), the
// outputs for an image are the means over it and its mirror image. With loader->test_shifts(), they
// are 1/2 of the outputs for the image and 1/4 each of those for the image moved by this number of
// pixels up and to the left, and down and to the right (DataConfig.test_shifts). The loader stands
// at its start before and after. `stop` (may be null) is asked after each batch: as soon as it is
// true on any rank, all ranks give up and return null. `predictions` (may be null; of
// loader->size() images) gets what each image was taken for, on every rank.
std::unique_ptr<Tally> Evaluate(Net* net, Loader* loader, Communicator* comm,
                                const std::function<bool()>& stop,
                                Predictions* predictions = nullptr);

}  // namespace gf
