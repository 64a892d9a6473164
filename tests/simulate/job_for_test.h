#pragma once

#include <string>
#include <vector>

#include "simulate/cluster.h"
#include "simulate/job_run.h"

namespace gf {

inline SimulatedJob Job(const std::vector<std::string>& overrides = {}) {
  SimulatedJob job;
  job.config = ReadJobConfig("tests/simulate/paper_alexnet.prototxt", overrides);
  job.cluster = ReadCluster("configs/clusters/paper_v.prototxt");
  return job;
}

}  // namespace gf
