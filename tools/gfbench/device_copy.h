#pragma once

#include <cstdint>

#include "core/device.h"

namespace gf {

// Copies bytes within the memory of a device, with all of its compute threads, and waits.
void CopyBytes(Device* device, void* from, void* to, int64_t bytes);

// Bytes per second, read and written, of copies that are larger than caches; the best of a few.
double CopyRate(Device* device);

}  // namespace gf
