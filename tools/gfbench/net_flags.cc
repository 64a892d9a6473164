#include "tools/gfbench/net_flags.h"

#include <gflags/gflags.h>

#include "core/error.h"
#include "tools/flags.h"
#include "tools/gfbench/common_flags.h"
#include "tools/gfbench/synthetic.h"

DEFINE_string(net, "", "the network, a prototxt file");
DEFINE_string(input, "", "C x H x W of the images where the net does not say, e.g. 3x32x32");
DEFINE_int32(batch, 64, "images per rank and step");
DEFINE_string(compute, "FP32", "FP32, BF16 or (on GPUs) FP16");
DEFINE_string(device, "cpu", "cpu or cuda");
DEFINE_string(profile_out, "", "write each layer's times for gfsim --profile");
DEFINE_bool(allow_tf32, false, "on GPUs: products of FP32 may use the tensor cores as TF32");
DEFINE_bool(recompute, false, "recompute batch norms in backward to save memory");

namespace gf {

int ParseNetFamilyFlags(int argc, char** argv, const char* file, const char* usage,
                        const std::vector<std::string>& more_files) {
  FlagSpec spec;
  spec.file = file;
  spec.more_files = {kCommonFlagsFile, __FILE__};
  spec.more_files.insert(spec.more_files.end(), more_files.begin(), more_files.end());
  spec.usage = usage;
  return ParseFlags(argc, argv, spec);
}

std::unique_ptr<Device> DeviceOfFlags() {
  return DeviceRegistry::Get().Create("--device", FLAGS_device, FLAGS_threads);
}

NetOptions NetOptionsOfFlags(const char* usage) {
  if (FLAGS_net.empty()) ThrowUserError("--net is missing\n", usage);
  if (FLAGS_batch < 1) ThrowUserError("--batch must be at least 1");
  ComputeType compute;
  if (!ComputeType_Parse(FLAGS_compute, &compute)) {
    ThrowUserError("--compute=", FLAGS_compute, ": expected FP32, BF16 or FP16");
  }
  NetOptions options;
  options.phase = TRAIN;
  options.compute = ToDType(compute);
  options.batch_size = FLAGS_batch;
  options.recompute = FLAGS_recompute;
  options.allow_tf32 = FLAGS_allow_tf32;
  options.image_shape = ParseImageShape(FLAGS_input);
  return options;
}

}  // namespace gf
