#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "core/config/job.pb.h"
#include "core/device.h"
#include "data/loader/loader.h"
#include "models/net.h"
#include "solvers/checkpoint/checkpoint.h"

namespace gf {

// Checks that all ranks have the same config and program before anything large is built.
// Throws UserError on all ranks.
void CheckSameConfig(const JobConfig& config, Communicator* comm);

// For solvers whose updates multiply matrices: checks that all ranks get the same bits, because
// their weights would drift apart otherwise. Throws UserError on all ranks.
void CheckSameProducts(const SolverConfig& solver, const Device& device, Communicator* comm);

// Checks that all ranks train the same: the net, its parameters, their places in the pools, the
// bits of the weights, the number and classes of the images, and the mean images. `validation` may
// be null. Throws UserError on all ranks.
void CheckSameNet(const NetSource& source, const ParameterStore& store, const Loader& data,
                  const Loader* validation, Communicator* comm);

// Tells `note` what differs between a job and the checkpoint that it continues: ranks, threads, the
// number of training images, and the settings that change what is learned.
void NoteChanges(const TrainingState& checkpoint, const JobConfig& config, int world, int threads,
                 int64_t images, const std::function<void(const std::string&)>& note);

// The same for the names of the classes, by label; nothing where one side has none.
void NoteClassChanges(const std::vector<std::string>& checkpoint,
                      const std::vector<std::string>& data,
                      const std::function<void(const std::string&)>& note);

}  // namespace gf
