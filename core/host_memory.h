#pragma once

namespace gf {

// Bytes that this process can hold at most: the host's memory and swap space, the limit of its
// control group, and its limit of addresses (ulimit -v).
double HostMemory();

}  // namespace gf
