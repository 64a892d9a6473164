#pragma once

#include <string>

#include "comm/communicator.h"
#include "core/device.h"
#include "core/tensor.h"

namespace gf {

// Replaces a pool on a device, of the same size on all ranks, by rank 0's, in pieces that need
// little memory.
void BroadcastPool(Device* device, const Tensor& pool, const std::string& label,
                   Communicator* comm);

// Replaces the FP32 pool of rank `to`, on a device, by that of rank 0; `to` is not 0. Called by all
// ranks.
void SendPool(Device* device, const Tensor& pool, int to, const std::string& label,
              Communicator* comm);

}  // namespace gf
