#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "comm/flow/gradient_flow.h"
#include "core/config/job.pb.h"
#include "core/device.h"
#include "core/file_digest.h"
#include "core/tensor.h"
#include "models/parameter_store.h"

namespace gf {

// A checkpoint's file of the state that all ranks share: the chunks that are important in the next
// step, and LOW_RANK's right factors or SPARSE's waiting times (Note [Residuals in checkpoints]).
// Only rank 0 touches it. All functions throw UserError.
FileDigest WriteSharedState(const std::string& path, const GradientFlow& flow,
                            const SparseConfig& config, const ParameterStore& store);

// The important chunks among `elements` gradients; all of them if the file's are cut differently,
// which `note` says.
std::vector<int64_t> ReadChunks(const std::string& path, const SparseConfig& config,
                                int64_t elements,
                                const std::function<void(const std::string&)>& note);

// Reads a flow's shared_state(); `counts`: whole numbers from 1 (SPARSE's waiting times), not any
// finite ones. If the file lacks it, or has another shape, the state starts anew, and `note` says
// so.
void ReadSharedState(const std::string& path, Device* device, const Tensor& shared, bool counts,
                     const std::function<void(const std::string&)>& note);

}  // namespace gf
