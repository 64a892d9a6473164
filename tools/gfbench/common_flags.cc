#include "tools/gfbench/common_flags.h"

#include <gflags/gflags.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"

DEFINE_int32(steps, 10, "steps that are timed");
DEFINE_int32(warmup, 2, "steps before that");
DEFINE_int32(threads, 0, "threads; 0 = the benchmark's own choice");
DEFINE_string(json, "", "also write the figures to this `FILE`");

namespace gf {

FlagGroup CommonFlags() { return {"Measurement", {"steps", "warmup", "threads", "json"}}; }

void CheckCommonFlags() {
  if (FLAGS_steps < 1 || FLAGS_warmup < 0 || FLAGS_threads < 0) {
    ThrowUserError("--steps must be at least 1, --warmup and --threads at least 0");
  }
}

void WriteJson(const nlohmann::ordered_json& figures) {
  if (FLAGS_json.empty()) return;
  std::ofstream out(FLAGS_json);
  out << figures.dump(1) << "\n";
  if (!out.flush()) ThrowUserError("cannot write ", FLAGS_json);
}

}  // namespace gf
