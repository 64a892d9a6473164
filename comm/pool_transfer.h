#pragma once

#include <string>

#include "comm/communicator.h"
#include "core/device.h"
#include "core/tensor.h"

namespace gf {

// Hands out pools of rank 0, in a device's memory or the host's. All ranks call these functions;
// the pool has the same size on all of them.

// Replaces the pool of every rank by the pool of rank 0, in pieces that need little memory.
void BroadcastPool(Device* device, const Tensor& pool, const std::string& label,
                   Communicator* comm);

// Replaces the FP32 pool of rank `to`, another rank than 0, by the pool of rank 0.
void SendPool(Device* device, const Tensor& pool, int to, const std::string& label,
              Communicator* comm);

}  // namespace gf
