#pragma once

#include <cstdint>
#include <vector>

#include "comm/communicator.h"
#include "comm/sparse/chunks.h"
#include "core/tensor.h"

namespace gf {

// The chunks that the first step of a SPARSE flow sends, ascending; without them it would send all.
// `known`: those that an earlier flow of SPARSE would send next, the same on all ranks; empty if
// there was none. If they are too few for the density, the others with the largest L1 norms join
// them. `gradients`: the pool of `grid` after a step, FP32 or BF16 in the host's memory. Rank 0's
// gradients decide. Collective.
std::vector<int64_t> AgreeOnFirstChunks(const Tensor& gradients, const ChunkGrid& grid,
                                        double density, const std::vector<int64_t>& known,
                                        Communicator* comm);

}  // namespace gf
