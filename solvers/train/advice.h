#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/pool_layout.h"

namespace gf {

// Sentences about what a job says in vain, for warnings at its start.

// Settings of the data layers of a net as its file says (ReadNet) that only the job's data decide,
// where `data`
// (train_data in phase TRAIN, validation_data in TEST) does not have their counterpart.
std::vector<std::string> UnusedDataSettings(const NetSource& net, const DataConfig& data,
                                            Phase phase);

// Mode SPARSE with too few chunks among `elements` gradients for a choice; "" if all is well.
std::string FewChunks(const CommConfig& comm, int64_t elements);

// Mode TOPK with a density at which `world` ranks send everything; "" if all is well.
std::string TopkSendsAll(const JobConfig& config, int world);

// Mode TOPK or QUANTIZED for a net without weights that are large enough for it; "" if all is well.
std::string NothingIsLarge(const CommConfig& comm, const PoolLayout& layout);

// Prints the sentences for training.
void WarnAtStart(const JobConfig& config, const PoolLayout& layout, int world);

}  // namespace gf
