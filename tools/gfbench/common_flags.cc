#include "tools/gfbench/common_flags.h"

#include <gflags/gflags.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/error.h"
#include "core/output_file.h"

DEFINE_int32(steps, 10, "steps that are timed");
DEFINE_int32(warmup, 2, "steps before that");
DEFINE_int32(threads, 0, "threads; 0 = the benchmark's own choice");
DEFINE_int32(rounds, 5, "rounds of all that are compared, of which the median counts");
DEFINE_string(json, "", "also write the figures to this `FILE`");

namespace gf {

FlagGroup CommonFlags() { return {"Measurement", {"steps", "warmup", "threads", "json"}}; }

void CheckCommonFlags() {
  const auto check = [](const char* flag, int value, int least) {
    if (value < least) ThrowUserError("--", flag, " is ", value, ", must be at least ", least);
  };
  check("steps", FLAGS_steps, 1);
  check("warmup", FLAGS_warmup, 0);
  check("threads", FLAGS_threads, 0);
  if (FLAGS_threads > 1024) ThrowUserError("--threads is ", FLAGS_threads, ", must be 0 to 1024");
}

void CheckJsonFile() { CheckOutputFile("json", FLAGS_json); }

void WriteJson(const nlohmann::ordered_json& figures) {
  if (FLAGS_json.empty()) return;
  ReplaceFile(FLAGS_json, figures.dump(1) + "\n");
}

}  // namespace gf
