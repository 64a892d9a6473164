#pragma once

#include <cstdint>

#include "comm/sparse/chunks.h"

namespace gf {

// Share of chunks that are communicated in `step` (from 0): falls linearly from 1 to `density`
// over the first warmup_fraction of all steps, and stays there. `density` in (0, 1],
// `warmup_fraction` in [0, 1].
double DensityAt(int64_t step, int64_t total_steps, double density, double warmup_fraction);

// How many of `chunks` chunks a density stands for: the nearest whole number, at least one (none
// of none).
int64_t ChunksAt(double density, int64_t chunks);

// The `how_many` chunks with the largest norms, norms[grid.chunks()]. Of equal norms the lower
// chunk comes first; infinity and NaN are the largest, so that a gradient that is not finite
// reaches every rank. A pure function of the norms' bits.
ChunkSet SelectTop(const float* norms, const ChunkGrid& grid, int64_t how_many);

}  // namespace gf
