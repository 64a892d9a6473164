// gfbench depthwise: depthwise convolutions by our own kernels, beside oneDNN's or cuDNN's.

#include "layers/depthwise.h"

#include <gflags/gflags.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/device.h"
#include "core/error.h"
#include "core/median.h"
#include "models/net.h"
#include "tools/command.h"
#include "tools/gfbench/common_flags.h"
#include "tools/gfbench/device_copy.h"
#include "tools/gfbench/net_flags.h"
#include "tools/gfbench/synthetic.h"

DEFINE_int32(kernel, 3, "height and width of the filters, an odd number");
DEFINE_int32(dilation, 1, "pixels from tap to tap of a filter");
DEFINE_int32(multiplier, 1, "filters per channel");

namespace gf {
namespace {

struct Shapes {
  int channels, side, stride;
};

// Of MobileNets for images of 224 x 224.
constexpr Shapes kShapes[] = {{32, 112, 1}, {64, 112, 2}, {128, 56, 1}, {128, 56, 2}, {256, 28, 1},
                              {256, 28, 2}, {512, 14, 1}, {512, 14, 2}, {1024, 7, 1}};

const char kLayer[] = "depthwise";

// A classifier with one depthwise convolution. The convolution before it gives the bottom a
// gradient and a layout.
NetSource NetWith(const Shapes& s) {
  return ParseNet(
      StrCat("layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: [1, 3, ",
             s.side, ", ", s.side,
             "] } } }"
             "layer { name: 'label' type: 'Input' top: 'label' input_param { shape { dim: 1 } } }"
             "layer { name: 'before' type: 'Convolution' bottom: 'data' top: 'before' "
             "convolution_param { num_output: ",
             s.channels,
             " kernel_size: 1 bias_term: false weight_filler { type: 'xavier' } } }"
             "layer { name: '",
             kLayer, "' type: 'Convolution' bottom: 'before' top: 'after' convolution_param { ",
             "num_output: ", s.channels * FLAGS_multiplier, " group: ", s.channels,
             " kernel_size: ", FLAGS_kernel, " stride: ", s.stride,
             " pad: ", FLAGS_kernel / 2 * FLAGS_dilation, " dilation: ", FLAGS_dilation,
             " bias_term: false weight_filler { type: 'xavier' } } }"
             "layer { name: 'pool' type: 'Pooling' bottom: 'after' top: 'pool' "
             "pooling_param { pool: AVE global_pooling: true } }"
             "layer { name: 'scores' type: 'InnerProduct' bottom: 'pool' top: 'scores' "
             "inner_product_param { num_output: 2 weight_filler { type: 'xavier' } } }"
             "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'scores' bottom: 'label' "
             "top: 'loss' }"),
      "a depthwise convolution");
}

struct Seconds {
  double forward = 0, backward = 0;
  double total() const { return forward + backward; }
};

// The depthwise convolution of a net, computed in one way.
class TimedLayer {
 public:
  TimedLayer(const Shapes& shapes, DepthwiseWay way, const NetOptions& options, Device* device)
      : device_(device) {
    WayOfDepthwise() = way;
    net_ = std::make_unique<Net>(NetWith(shapes), options, device);
    WayOfDepthwise() = DepthwiseWay::kFaster;
    net_->InitParameters();
    batch_ = SyntheticBatch(*net_);
    net_->EnableTimes();
    while (op().name != kLayer) ++index_;
  }

  // Conversions of layouts count for the convolution.
  void Step(bool timed) {
    net_->ResetTimes();
    net_->Forward(batch_, sequence_++);
    net_->Backward(1, nullptr);
    device_->compute_stream()->Synchronize();
    if (!timed) return;
    forward_.push_back(op().forward_seconds);
    backward_.push_back(op().backward_seconds);
    for (const NetOp& other : net_->ops()) {
      if (other.type != "_Reorder") continue;
      forward_.back() += other.forward_seconds;
      backward_.back() += other.backward_seconds;
    }
  }

  Seconds Medians() const { return {Median(forward_), Median(backward_)}; }
  const NetOp& op() const { return net_->ops()[index_]; }

 private:
  Device* const device_;
  std::unique_ptr<Net> net_;
  Batch batch_;
  uint64_t sequence_ = 0;
  size_t index_ = 0;  // of the convolution among the operations
  std::vector<double> forward_, backward_;
};

class DepthwiseBenchmark : public Command {
 public:
  FlagSpec Spec() const override {
    FlagSpec spec;
    spec.summary = "times depthwise convolutions by our own kernels beside the library's.";
    spec.usage = {"gfbench depthwise [FLAGS]"};
    spec.examples = {"gfbench depthwise --batch=32", "gfbench depthwise --batch=32 --compute=BF16",
                     "gfbench depthwise --batch=32 --kernel=5 --device=cuda --compute=FP16"};
    spec.groups = {
        {"Depthwise", {"batch", "compute", "device", "kernel", "dilation", "multiplier"}},
        CommonFlags()};
    spec.notes =
        "The shapes are MobileNet's. Each is the only depthwise convolution of a small net, whose "
        "steps alternate between our own kernels and oneDNN (on GPUs cuDNN); the times are medians "
        "of forward, and of both gradients. GFLOP/s and GB/s are of our own kernels, forward and "
        "backward; bytes count each tensor once per pass that reads or writes it. \"of a copy\" is "
        "the share of the rate at which this machine copies memory; shapes that fit into caches "
        "exceed 100 %. The last column says how the library computes.\n";
    return spec;
  }

  int Run(const Arguments& arguments) override {
    CheckFlags();
    const NetOptions options = OptionsOfFlags();
    CheckCommonFlags();
    CheckJsonFile();
    const auto device = DeviceOfFlags();
    if (!device->Supports(options.compute)) {
      ThrowUserError("--compute=", FLAGS_compute, " is not supported here (", device->Description(),
                     "): choose another type, or another --device");
    }
    const double copy = CopyRate(device.get());
    std::printf(
        "depthwise convolutions of %d x %d, dilation %d, %d per channel; batch %d, %s, %s\n",
        FLAGS_kernel, FLAGS_kernel, FLAGS_dilation, FLAGS_multiplier, FLAGS_batch,
        FLAGS_compute.c_str(), device->Description().c_str());
    std::printf("memory: %.1f GB/s in copies\n\n%8s %6s %6s %10s %10s %9s %8s %10s %12s %10s %6s\n",
                copy / kGiga, "channels", "pixels", "stride", "forward ms", "back. ms", "GFLOP/s",
                "GB/s", "of a copy", "library's ms", "back. ms", "ratio");
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const Shapes& shapes : kShapes)
      rows.push_back(Compare(shapes, options, copy, device.get()));
    WriteJson({{"batch", FLAGS_batch},
               {"compute", FLAGS_compute},
               {"kernel", FLAGS_kernel},
               {"dilation", FLAGS_dilation},
               {"multiplier", FLAGS_multiplier},
               {"copy_bytes_per_s", copy},
               {"shapes", rows}});
    return 0;
  }

 private:
  static constexpr double kGiga = 1e9, kMilli = 1e-3;

  static void CheckFlags() {
    const auto check = [](const char* flag, int value, int most) {
      if (value >= 1 && value <= most) return;
      ThrowUserError("--", flag, " is ", value, ", must be 1 to ", most);
    };
    check("kernel", FLAGS_kernel, 31);
    check("dilation", FLAGS_dilation, 16);
    check("multiplier", FLAGS_multiplier, 16);
    if (FLAGS_kernel % 2 == 0) {
      ThrowUserError("--kernel is ", FLAGS_kernel, ", must be odd: the padding is half of it");
    }
  }

  // Elements of the bottom and the top of all images.
  static int64_t Elements(const Shapes& s) {
    const int64_t out = (s.side - 1) / s.stride + 1;
    return int64_t{FLAGS_batch} * s.channels *
           (int64_t{s.side} * s.side + out * out * FLAGS_multiplier);
  }

  static nlohmann::ordered_json Compare(const Shapes& shapes, const NetOptions& options,
                                        double copy, Device* device) {
    TimedLayer own(shapes, DepthwiseWay::kOwn, options, device);
    TimedLayer library(shapes, DepthwiseWay::kLibrary, options, device);
    for (int i = 0; i < FLAGS_warmup + FLAGS_steps; ++i) {
      for (TimedLayer* layer : {&own, &library}) layer->Step(i >= FLAGS_warmup);
    }
    const Seconds ours = own.Medians(), theirs = library.Medians();
    // Forward, and each of the gradients, reads or writes both blobs.
    const double bytes =
        3.0 * static_cast<double>(Elements(shapes)) * static_cast<double>(SizeOf(options.compute));
    const double flops = static_cast<double>(own.op().forward_flops + own.op().backward_flops);
    const double rate = bytes / ours.total();
    std::printf("%8d %6d %6d %10.3f %10.3f %9.1f %8.1f %8.0f %% %12.3f %10.3f %6.2f  %s\n",
                shapes.channels, shapes.side, shapes.stride, ours.forward / kMilli,
                ours.backward / kMilli, flops / ours.total() / kGiga, rate / kGiga,
                100 * rate / copy, theirs.forward / kMilli, theirs.backward / kMilli,
                theirs.total() / ours.total(), library.op().how.c_str());
    return {{"channels", shapes.channels},
            {"side", shapes.side},
            {"stride", shapes.stride},
            {"own", own.op().how},
            {"own_forward_ms", ours.forward / kMilli},
            {"own_backward_ms", ours.backward / kMilli},
            {"library", library.op().how},
            {"library_forward_ms", theirs.forward / kMilli},
            {"library_backward_ms", theirs.backward / kMilli},
            {"flops_per_s", flops / ours.total()},
            {"bytes_per_s", rate}};
  }
};

GF_REGISTER(CommandRegistry, "depthwise", DepthwiseBenchmark);

}  // namespace
}  // namespace gf
