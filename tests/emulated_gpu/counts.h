#pragma once

#include <cstdint>

namespace gf::emulated {

// What the host asked of the GPU since the process began. Work counts when it goes on a stream;
// work of a graph counts in each launch of the graph, not while it is captured.
struct Counts {
  int64_t kernels = 0;  // own ones
  int64_t cudnn = 0;    // plans executed
  int64_t matmuls = 0;  // products by cuBLASLt
  int64_t copies = 0;
  int64_t memsets = 0;
  int64_t graph_launches = 0;
  // Calls in which the host waits: for a stream, an event, the device, or memory that is freed, as
  // far as there is work that no earlier wait has covered; and every copy from or to pageable
  // memory.
  int64_t host_waits = 0;
};
Counts Now();

// Adds one to a field; any thread may call.
void Count(int64_t Counts::*field);

}  // namespace gf::emulated
