#include "tools/gfbench/workload.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "simulate/cluster.h"
#include "simulate/net_model.h"
#include "tools/gfbench/net_flags.h"
#include "tools/gfbench/replay.h"
#include "tools/gfbench/synthetic.h"

DEFINE_string(replay, "",
              "wait for the times of layers in this `FILE` instead of computing, e.g. one that "
              "--profile_out wrote");
DEFINE_double(replay_images_per_s, 0,
              "with --replay: stretch the times so that forward and backward of --batch images run "
              "at this `RATE`; 0 = the times of the file");
DEFINE_bool(replay_update, true,
            "update the weights; with --replay, --noreplay_update leaves it out, because a "
            "processor takes much longer for it than a GPU");

namespace gf {
namespace {

class NetWorkload : public Workload {
 public:
  explicit NetWorkload(Device* device)
      : net_(ReadNet(FLAGS_net), NetOptionsOfFlags(), device), batch_(SyntheticBatch(net_)) {
    net_.InitParameters();
  }

  std::string name() const override { return net_.name(); }
  const std::shared_ptr<ParameterStore>& parameters() const override { return net_.parameters(); }
  void Forward(int64_t step) override { net_.Forward(batch_, step); }
  void Backward(const std::function<void(const std::vector<int>&)>& done) override {
    net_.Backward(1, done);
  }
  Net* net() override { return &net_; }

 private:
  Net net_;
  const Batch batch_;
};

std::unique_ptr<Workload> NewReplay(Device* device, int rank) {
  const NetOptions options = NetOptionsOfFlags();
  if (!device->Supports(options.compute)) {
    ThrowUserError("--compute=", FLAGS_compute, ": the device ", device->name(),
                   " does not have this type");
  }
  NetModel net = ModelOf(ReadNet(FLAGS_net), FLAGS_batch, options.image_shape);
  const ProfileConfig profile = ReadProfile(FLAGS_replay);
  ComputeTimes times;
  try {
    times = PassesOf(net, profile);
  } catch (const UserError& error) {
    ThrowUserError("--replay=", FLAGS_replay, ": ", error.what());
  }
  for (const LayerModel& layer : net.layers) {
    const auto& timed = profile.layer();
    if (layer.forward_flops == 0 || std::any_of(timed.begin(), timed.end(), [&](const auto& each) {
          return each.name() == layer.name;
        })) {
      continue;
    }
    ThrowUserError("--replay=", FLAGS_replay, ": it has no time of layer \"", layer.name, "\" of ",
                   FLAGS_net,
                   ": add it, or write a profile of this net with "
                   "gfbench step --profile_out");
  }
  if (FLAGS_replay_images_per_s > 0) {
    if (times.step() <= 0) {
      ThrowUserError("--replay=", FLAGS_replay,
                     ": all times are 0, so --replay_images_per_s=", FLAGS_replay_images_per_s,
                     " cannot stretch them");
    }
    const double scale = FLAGS_batch / FLAGS_replay_images_per_s / times.step();
    for (double& layer : times.forward) layer *= scale;
    for (double& layer : times.backward) layer *= scale;
  }
  return std::make_unique<Replay>(std::move(net), std::move(times), options.compute, device, rank);
}

}  // namespace

std::unique_ptr<Workload> NewWorkload(Device* device, int rank) {
  if (!FLAGS_replay.empty()) return NewReplay(device, rank);
  return std::make_unique<NetWorkload>(device);
}

FlagGroup WorkloadFlags() { return {"Replay", {"replay", "replay_images_per_s", "replay_update"}}; }

void CheckWorkloadFlags(const std::string& computing) {
  constexpr double kMost = 1e9;
  const double rate = FLAGS_replay_images_per_s;
  if (!(rate >= 0 && rate <= kMost)) {
    ThrowUserError("--replay_images_per_s is ", rate, ", must be 0 to ", kMost);
  }
  if ((rate > 0 || !FLAGS_replay_update) && FLAGS_replay.empty()) {
    ThrowUserError(rate > 0 ? "--replay_images_per_s" : "--noreplay_update",
                   " goes with --replay=FILE, the times of the layers");
  }
  if (!FLAGS_replay.empty() && !computing.empty()) {
    ThrowUserError(computing, " needs a net that computes: leave out --replay");
  }
}

}  // namespace gf
