#pragma once

#include <string>
#include <vector>

namespace gf {

// What the transport of the device "separate" did on this thread's rank, in order: "start p0, step
// 1 (allreduce)" or "(allreduce, torus)", "await p0, step 1". It makes sums at the last moment, in
// Await; until then a range under way holds NaNs, so that whoever reads or writes it too early
// spoils the result.
std::vector<std::string>* TransportLog();

// From now on, awaiting a collective whose label begins like this is a CommError on this thread's
// rank; "" = none is.
void FailTransportOf(const std::string& label);

}  // namespace gf
