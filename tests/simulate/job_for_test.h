#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "simulate/cluster.h"
#include "simulate/job_run.h"

namespace gf {

inline SimulatedJob Job(const std::vector<std::string>& overrides = {}) {
  SimulatedJob job;
  job.config = ReadJobConfig("tests/simulate/paper_alexnet.prototxt", overrides);
  job.cluster = ReadCluster("configs/clusters/paper_v.prototxt");
  return job;
}

// The message with which a job is refused, or "no error".
inline std::string ErrorOf(const SimulatedJob& job) {
  try {
    Simulator simulator(job);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace gf
