#include "tools/gfbench/common_flags.h"

#include <gflags/gflags.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/output_file.h"

DEFINE_int32(steps, 10, "steps that are timed");
DEFINE_int32(warmup, 2, "steps before that");
DEFINE_int32(threads, 0, "compute threads, 0 = one per processor");
DEFINE_string(json, "", "write the figures to this file, too");

namespace gf {

const char kCommonFlagsFile[] = __FILE__;

void CheckCommonFlags() {
  if (FLAGS_steps < 1 || FLAGS_warmup < 0 || FLAGS_threads < 0) {
    ThrowUserError("--steps must be at least 1, --warmup and --threads at least 0");
  }
}

void WriteJson(const nlohmann::ordered_json& figures) {
  if (FLAGS_json.empty()) return;
  ReplaceFile(FLAGS_json, figures.dump(1) + "\n");
}

}  // namespace gf
