#pragma once

#include <string>
#include <vector>

#include "core/device.h"
#include "models/compiled_net.h"

namespace gf {

// Blobs of a net after a pass, as plain FP32 in host memory. Waits for the compute stream.

// The newest version of the blob with this name in the net's file.
int FindBlob(const CompiledNet& net, const std::string& name);

std::vector<float> BlobValues(const CompiledNet& net, int blob, Device* device);

// The sum of the gradients that the blob's readers produced.
std::vector<float> GradientValues(const CompiledNet& net, int blob, Device* device);

}  // namespace gf
