#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/job.pb.h"
#include "core/dtype.h"
#include "core/pool_layout.h"

namespace gf {

// Sentences about modes that have too little to choose from or to compress, for warnings at the
// start. "": all is well.

// With fewer chunks SPARSE has little to choose from.
constexpr int64_t kFewestChunks = 100;

// Mode SPARSE with too few chunks for a choice. Chunks are pieces of the pool, padding included;
// the sentence counts gradients without it.
std::string FewChunks(const CommConfig& comm, const PoolLayout& layout);

// Mode TOPK with a density at which `world` ranks send everything. `gradients`: their type.
std::string TopkSendsAll(const CommConfig& comm, DType gradients, int world);

// Mode TOPK or QUANTIZED for a net without weights that are large enough for it.
std::string NothingIsLarge(const CommConfig& comm, const PoolLayout& layout);

// All of these that are not "".
std::vector<std::string> ModeAdvice(const CommConfig& comm, const PoolLayout& layout,
                                    DType gradients, int world);

}  // namespace gf
