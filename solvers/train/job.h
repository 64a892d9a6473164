#pragma once

#include <memory>
#include <string>

#include "comm/communicator.h"
#include "core/config/config.h"
#include "core/device.h"
#include "data/loader/loader.h"
#include "models/net.h"
#include "solvers/solver.h"

namespace gf {

// A data set and the net that runs on it.
struct DataAndNet {
  std::unique_ptr<Loader> loader;
  std::unique_ptr<Net> net;
};

struct JobOptions {
  // Of both nets; what is for training only is left out of the other.
  NetOptions net;
  int rank = 0, world = 1;
  // Compute threads of this rank; as many decode where the config leaves it open.
  int threads = 1;
};

// What a config says of its nets.
NetOptions NetOptionsOf(const JobConfig& config, Phase phase);

JobOptions MakeJobOptions(const JobConfig& config, bool deterministic, int threads,
                          const Communicator& comm);

// Opens a data set and builds the net of `phase` for its images. `parameters` are those of the
// job's other net, or null. Labels that the net cannot tell apart are a UserError that names
// the sample.
DataAndNet BuildDataAndNet(const DataConfig& data, const NetSource& source, Phase phase,
                           const JobOptions& options, std::shared_ptr<ParameterStore> parameters,
                           Device* device);

// All that a training job consists of, on one rank.
struct Job {
  std::unique_ptr<Device> device;
  NetSource source;
  DataAndNet train;
  DataAndNet validation;  // both null without validation_data
  ParameterStore* store = nullptr;
  std::unique_ptr<Solver> solver;
};

// Builds all but the device, which is there; parameters are initialised from the seed. Does not
// communicate. Throws UserError.
void BuildJob(const JobConfig& config, const JobOptions& options, Job* job);

}  // namespace gf
