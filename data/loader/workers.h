#pragma once

#include <cstdint>
#include <functional>

namespace gf {

// Calls body(0) ... body(count - 1), each once, from `workers` threads (0 = one per processor that
// this process may use), in about this order. The first exception stops the rest and comes out of
// here; of several that of the lowest number.
void RunWorkers(int workers, int64_t count, const std::function<void(int64_t)>& body);

// Processors that this process may use, at least 1.
int AvailableProcessors();

}  // namespace gf
