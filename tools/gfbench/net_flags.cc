#include "tools/gfbench/net_flags.h"

#include <gflags/gflags.h>

#include <algorithm>

#include "core/error.h"
#include "tools/gfbench/common_flags.h"
#include "tools/gfbench/synthetic.h"

DEFINE_string(net, "", "the network: a prototxt `FILE`");
DEFINE_string(input, "", "`CxHxW` of the images if the net does not say, e.g. 3x32x32");
DEFINE_int32(batch, 64, "images per rank and step");
DEFINE_string(compute, "FP32", "the compute `TYPE`: FP32, BF16 or (on GPUs) FP16");
DEFINE_string(device, "cpu", "the `DEVICE`: cpu or cuda");
DEFINE_string(profile_out, "", "write each layer's times to this `FILE`, for gfsim --profile");
DEFINE_bool(allow_tf32, false, "on GPUs: products of FP32 may use the tensor cores as TF32");
DEFINE_bool(recompute, false, "recompute batch norms in backward to save memory");
DEFINE_string(solver, "",
              "the `SOLVER` that updates: SGD, LARS, LARC, LAMB, Adam, AdamW, AdaGrad, RMSProp, "
              "AdaDelta or Muon");

namespace gf {

FlagGroup NetFlags() {
  return {"Network", {"net", "input", "batch", "compute", "device", "allow_tf32", "recompute"}};
}

std::string SolverOfFlag(const std::string& otherwise) {
  return FLAGS_solver.empty() ? otherwise : FLAGS_solver;
}

std::unique_ptr<Device> DeviceOfRank() {
  if (FLAGS_device != "cpu") {
    ThrowUserError("--device=", FLAGS_device,
                   ": gfbench times an exchange on processors only (cpu); gfbench step and update "
                   "take a GPU");
  }
  return DeviceRegistry::Get().Create("--device", FLAGS_device, std::max(FLAGS_threads, 1));
}

std::unique_ptr<Device> DeviceOfFlags() {
  return DeviceRegistry::Get().Create("--device", FLAGS_device, FLAGS_threads);
}

NetOptions NetOptionsOfFlags() {
  if (FLAGS_net.empty()) ThrowUserError("--net is missing: name the network's prototxt file");
  return OptionsOfFlags();
}

NetOptions OptionsOfFlags() {
  if (FLAGS_batch < 1) ThrowUserError("--batch is ", FLAGS_batch, ", must be at least 1");
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
