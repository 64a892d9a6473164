#pragma once

#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/pool_layout.h"

namespace gf {

// Sentences about what a job says in vain, for warnings at its start.

// Settings of the data layers of a net as its file says (ReadNet) that only the job's data decide,
// where `data` (train_data in phase TRAIN, validation_data in TEST) lacks their counterpart.
std::vector<std::string> UnusedDataSettings(const NetSource& net, const DataConfig& data,
                                            Phase phase);

// Prints these sentences for training, and those about comm.mode (ModeAdvice).
void WarnAtStart(const JobConfig& config, const PoolLayout& layout, int world);

}  // namespace gf
