#pragma once

#include <functional>
#include <map>
#include <string>

namespace gf {

// Seconds by name, of the parts of a call.
using Parts = std::map<std::string, double>;

struct Measured {
  double seconds = 0;
  Parts parts;
};

// Times `body` with Google Benchmark: `repetitions` times `iterations` calls, both fixed, so
// that ranks that run the same benchmark call it equally often. `body` returns the seconds that
// count (manual time) and may add to its parts. Returns the medians over the repetitions, per
// call. An exception of `body` ends the benchmark and comes out of here.
Measured Measure(const std::string& name, int iterations, int repetitions,
                 const std::function<double(Parts*)>& body);

}  // namespace gf
