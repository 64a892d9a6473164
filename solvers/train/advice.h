#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/config.h"

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

// Prints the sentences for training.
void WarnAtStart(const JobConfig& config, int64_t elements, int world);

}  // namespace gf
