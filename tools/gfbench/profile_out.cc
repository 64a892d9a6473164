#include "tools/gfbench/profile_out.h"

#include <sstream>

#include "core/output_file.h"

namespace gf {

void WriteProfile(const std::string& path, const Net& net, int steps, double step_seconds) {
  constexpr double kMilli = 1e-3;
  std::ostringstream out;
  out << "# Measured by gfbench, means of " << steps << " steps.\n"
      << "net: \"" << net.name() << "\"\nbatch: " << net.input_shape()[0]
      << "\nstep_ms: " << step_seconds / kMilli << "\n";
  double forward = 0, backward = 0;  // of conversions, which count for the layer that wants them
  for (const NetOp& op : net.ops()) {
    forward += op.forward_seconds / steps / kMilli;
    backward += op.backward_seconds / steps / kMilli;
    if (op.type == "_Reorder") continue;
    out << "layer { name: \"" << op.name << "\"  forward_ms: " << forward
        << "  backward_ms: " << backward << " }\n";
    forward = backward = 0;
  }
  ReplaceFile(path, out.str());
}

}  // namespace gf
