#pragma once

#include <cstdint>

#include "comm/communicator.h"
#include "comm/flow/gradient_flow.h"
#include "core/config/job.pb.h"
#include "core/device.h"
#include "data/loader/loader.h"
#include "models/net.h"
#include "solvers/batch_schedule.h"
#include "solvers/lr_policy.h"
#include "solvers/report/report.h"

namespace gf {

// What people are told of a training job before its first step.
struct JobDescription {
  const JobConfig& config;
  int threads = 1;  // compute threads of a rank
  bool deterministic = false;
  bool verbose = false;  // people also read the settings that have their defaults
  int64_t last_step = 0;
  const Communicator& comm;
  const Device& device;
  const Net& net;
  const Loader& train_data;
  const Loader* validation_data;  // null: none
  const GradientFlow& flow;
  const BatchSchedule& batches;
  const LearningRate& rate;
};

// Gives `report` the table of settings: the fields of the config, then what the job has made of
// them. The log has every field; people see those that differ from their defaults.
void Announce(const JobDescription& job, Report* report);

}  // namespace gf
