#include "tools/gfbench/profile_out.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "core/error.h"

namespace gf {

void WriteProfile(const std::string& path, const Net& net, int steps, double step_seconds) {
  constexpr double kMilli = 1e-3;
  std::ofstream out(path);
  out << "# Measured by gfbench, means of " << steps << " steps.\n"
      << "net: \"" << net.name() << "\"\nbatch: " << net.input_shape()[0]
      << "\nstep_ms: " << step_seconds / kMilli << "\n";
  for (const NetOp& op : net.ops()) {
    out << "layer { name: \"" << op.name
        << "\"  forward_ms: " << op.forward_seconds / steps / kMilli
        << "  backward_ms: " << op.backward_seconds / steps / kMilli << " }\n";
  }
  out.flush();
  if (!out) ThrowUserError("--profile_out=", path, ": cannot be written: ", std::strerror(errno));
}

}  // namespace gf
