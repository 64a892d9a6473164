#pragma once

#include <cstdint>
#include <functional>

namespace gf {

// Calls body(0) ... body(count - 1) once each, roughly in this order, from `workers` threads (0 =
// one per processor that this process may use). An exception stops the remaining calls and is
// rethrown; among several, the one with the lowest number.
void RunWorkers(int workers, int64_t count, const std::function<void(int64_t)>& body);

// Number of processors that this process may use, at least 1.
int AvailableProcessors();

}  // namespace gf
