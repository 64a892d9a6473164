#include "comm/sparse/selection.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace gf {

double DensityAt(int64_t step, int64_t total_steps, double density, double warmup_fraction) {
  const double warmup_steps = warmup_fraction * static_cast<double>(total_steps);
  if (static_cast<double>(step) >= warmup_steps) return density;
  return 1 - (1 - density) * (static_cast<double>(step) / warmup_steps);
}

int64_t ChunksAt(double density, int64_t chunks) {
  CHECK(density > 0 && density <= 1) << "density " << density;
  if (chunks == 0) return 0;
  return std::max<int64_t>(1, std::llround(density * static_cast<double>(chunks)));
}

ChunkSet SelectTop(const float* norms, const ChunkGrid& grid, int64_t how_many) {
  const int64_t chunks = grid.chunks();
  CHECK(how_many >= 0 && how_many <= chunks) << how_many << " of " << chunks << " chunks";
  const auto key = [norms](int64_t chunk) {
    return std::isfinite(norms[chunk]) ? norms[chunk] : std::numeric_limits<float>::infinity();
  };
  std::vector<int64_t> ids(chunks);
  std::iota(ids.begin(), ids.end(), 0);
  if (how_many < chunks) {
    // A strict order, so the chosen set does not depend on nth_element's way.
    std::nth_element(ids.begin(), ids.begin() + how_many, ids.end(), [&](int64_t a, int64_t b) {
      return key(a) != key(b) ? key(a) > key(b) : a < b;
    });
    ids.resize(how_many);
    std::sort(ids.begin(), ids.end());
  }
  return ChunkSet(grid, std::move(ids));
}

}  // namespace gf
