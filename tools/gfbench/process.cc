#include "tools/gfbench/process.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace gf {

double SecondsSinceStart() {
  std::ifstream stat("/proc/self/stat"), uptime("/proc/uptime");
  const std::string text((std::istreambuf_iterator<char>(stat)), std::istreambuf_iterator<char>());
  double up = 0;
  uptime >> up;
  // The name may hold anything; after it comes field 3. Field 22 is the start, in clock ticks.
  const size_t after_name = text.rfind(')');
  if (after_name == std::string::npos) return 0;
  std::istringstream fields(text.substr(after_name + 1));
  std::string field;
  for (int i = 3; i <= 22 && fields >> field; ++i) {
  }
  return up - std::stod(field) / sysconf(_SC_CLK_TCK);
}

double PeakBytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024.0;
}

}  // namespace gf
