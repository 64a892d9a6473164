#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/flow/gradient_flow_options.h"
#include "comm/price/step.h"
#include "core/config/job.pb.h"
#include "core/pool_layout.h"
#include "core/tensor.h"

namespace gf {

// A compressor's times and chunks for the gradients of one step on this rank.
struct ProbedCompressor {
  CompressorSeconds seconds;
  std::vector<int64_t> important_chunks;  // of SPARSE, in its next step
};

// Times a compressor's arithmetic on this rank: runs a few steps of its flow on a copy of
// `gradients` (host memory, values of a real step) with nothing sent, as if every other rank had
// the same gradients as this one. `options` as for NewGradientFlow, with `config` in place of its
// config. Frees the copy and the mode's pools before it returns, and does not communicate.
// Returns nothing, and the reason in `refusal`, if memory is short or the mode refuses the job.
std::optional<ProbedCompressor> ProbeArithmetic(const CommConfig& config, const PoolLayout& layout,
                                                const Tensor& gradients, Communicator* comm,
                                                const GradientFlowOptions& options,
                                                std::string* refusal);

}  // namespace gf
