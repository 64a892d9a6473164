#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "comm/communicator.h"
#include "core/config/job.pb.h"

namespace gf {

struct DryRunOptions {
  std::string net;    // a net's file, without a config
  std::string input;  // "CxHxW", or empty
  int64_t batch_size = 0;
  std::string phase = "TRAIN";
};

// Compiles a net and prints (on rank 0) its layers with shapes, parameters, FLOPs and memory,
// the parameter pool and the buckets. `config` may be null: the net alone. Reads no data where
// config or net say how large the images are, and allocates no memory for the net: a plan may be
// larger than any host. Throws UserError.
void DryRun(const JobConfig* config, const DryRunOptions& options, Communicator* comm, FILE* out);

}  // namespace gf
