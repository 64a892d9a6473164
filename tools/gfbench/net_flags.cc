#include "tools/gfbench/net_flags.h"

#include <gflags/gflags.h>

#include "core/error.h"
#include "tools/flags.h"
#include "tools/gfbench/common_flags.h"
#include "tools/gfbench/synthetic.h"

DEFINE_string(net, "", "the network, a prototxt file");
DEFINE_string(input, "", "C x H x W of the images where the net does not say, e.g. 3x32x32");
DEFINE_int32(batch, 64, "images per rank and step");
DEFINE_string(compute, "FP32", "FP32 or BF16");
DEFINE_bool(recompute, false, "recompute batch norms in backward to save memory");

namespace gf {

int ParseNetFamilyFlags(int argc, char** argv, const char* file, const char* usage) {
  FlagSpec spec;
  spec.file = file;
  spec.more_files = {kCommonFlagsFile, __FILE__};
  spec.usage = usage;
  return ParseFlags(argc, argv, spec);
}

NetOptions NetOptionsOfFlags(const char* usage) {
  if (FLAGS_net.empty()) ThrowUserError("--net is missing\n", usage);
  if (FLAGS_batch < 1) ThrowUserError("--batch must be at least 1");
  if (FLAGS_compute != "FP32" && FLAGS_compute != "BF16") {
    ThrowUserError("--compute=", FLAGS_compute, ": expected FP32 or BF16");
  }
  NetOptions options;
  options.phase = TRAIN;
  options.compute = FLAGS_compute == "BF16" ? DType::kBF16 : DType::kFP32;
  options.batch_size = FLAGS_batch;
  options.recompute = FLAGS_recompute;
  options.image_shape = ParseImageShape(FLAGS_input);
  return options;
}

}  // namespace gf
