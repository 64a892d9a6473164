#include "comm/choice/first_chunks.h"

#include <limits>
#include <sstream>
#include <string>

#include "comm/sparse/kernels.h"
#include "comm/sparse/selection.h"
#include "comm/wire/wire.h"
#include "core/error.h"
#include "core/parallel.h"

namespace gf {

std::vector<int64_t> AgreeOnFirstChunks(const Tensor& gradients, const ChunkGrid& grid,
                                        double density, const std::vector<int64_t>& known,
                                        Communicator* comm) {
  const int64_t count = ChunksAt(density, grid.chunks());
  if (static_cast<int64_t>(known.size()) >= count) return known;
  std::string text;
  if (comm->rank() == 0) {
    const SparseFunctions& kernels = ForTypes(Sparse(), gradients.desc.dtype, DType::kFP32);
    const auto size = static_cast<int64_t>(SizeOf(gradients.desc.dtype));
    std::vector<float> norms(grid.chunks());
    ParallelFor(grid.chunks(), 1, [&](int64_t first, int64_t last) {
      for (int64_t c = first; c < last; ++c) {
        const char* const chunk = gradients.as<char>() + grid.Begin(c) * size;
        norms[c] = static_cast<float>(kernels.norm(chunk, grid.End(c) - grid.Begin(c)));
      }
    });
    for (const int64_t chunk : known) norms[chunk] = std::numeric_limits<float>::infinity();
    const ChunkSet largest = SelectTop(norms.data(), grid, count);
    for (const int64_t chunk : largest.ids()) text += StrCat(chunk, " ");
  }
  comm->Broadcast(&text, 0, "the first chunks of comm.mode SPARSE");
  std::istringstream words(text);
  std::vector<int64_t> ids;
  for (int64_t id; words >> id;) ids.push_back(id);
  return ids;
}

}  // namespace gf
