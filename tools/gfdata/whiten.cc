#include <gflags/gflags.h>

#include <algorithm>
#include <cstdio>

#include "core/config/config.h"
#include "core/error.h"
#include "core/readable.h"
#include "data/prepare/whitening.h"
#include "solvers/checkpoint/safetensors.h"
#include "tools/command.h"
#include "tools/gfdata/common_flags.h"

DEFINE_string(config, "",
              "the job: a prototxt `FILE`; its train_data say which images there are and how the "
              "net sees them");
DEFINE_string(name, "", "the `NAME` of the weights: LAYER.weight of the first convolution");
DEFINE_int32(kernel, 2, "height and width of the filters in pixels");
DEFINE_double(eps, 5e-4, "a number that is added to each eigenvalue");

namespace gf {
namespace {

class WhitenCommand : public Command {
 public:
  FlagSpec Spec() const override {
    FlagSpec spec;
    spec.summary = "writes weights of a first convolution that whiten patches of the images.";
    spec.usage = {"gfdata whiten --config=FILE --name=NAME --out=FILE [FLAGS]"};
    spec.examples = {
        "gfdata whiten --config=configs/quickstart.prototxt --name=conv1.weight "
        "--out=white.safetensors --kernel=3"};
    spec.groups = {{"Images", {"config", "set", "images"}},
                   {"Filters", {"kernel", "eps"}},
                   {"Result", {"out", "name"}}};
    spec.notes =
        "The convolution needs num_output: 2 x channels x kernel x kernel, and no group. Images "
        "are prepared as in an evaluation, without random parts. gftrain --weights takes the file; "
        "freeze in the job keeps the weights.\n";
    return spec;
  }

  int Run(const Arguments& arguments) override {
    RequireFlag("config", FLAGS_config);
    RequireFlag("name", FLAGS_name);
    RequireFlag("out", FLAGS_out);
    CheckName();
    CheckOutputFile("out", FLAGS_out);
    WhiteningOptions options;
    options.data = ReadJobConfig(FLAGS_config, arguments.overrides).train_data();
    options.kernel = FLAGS_kernel;
    if (FLAGS_images != 0) options.images = FLAGS_images;
    options.epsilon = FLAGS_eps;
    const Whitening result = Measure(options);
    Write(result);
    if (result.images < options.images) {
      std::printf("only %s could be measured, expected %s\n",
                  Counted(result.images, "image").c_str(), WithCommas(options.images).c_str());
    }
    std::printf("%s patches of %s; eigenvalues from %.4g down to %.4g\n",
                WithCommas(result.patches).c_str(), Counted(result.images, "image").c_str(),
                result.eigenvalues.front(), result.eigenvalues.back());
    std::printf("filters of %s (outputs x channels x height x width) written to %s as %s\n",
                result.shape.ToString().c_str(), FLAGS_out.c_str(), FLAGS_name.c_str());
    return 0;
  }

 private:
  // Names in safetensors files are UTF-8.
  static void CheckName() {
    const bool good = std::all_of(FLAGS_name.begin(), FLAGS_name.end(),
                                  [](char c) { return c > ' ' && c <= '~'; });
    if (!good) ThrowUserError("--name holds characters other than those from ! to ~ of ASCII");
  }

  static Whitening Measure(const WhiteningOptions& options) {
    ProgressLine line;
    return WhitenPatches(options, [&](int64_t done, int64_t all) { line.Show(done, all); });
  }

  static void Write(const Whitening& result) {
    SafetensorsEntry entry;
    entry.name = FLAGS_name;
    entry.shape = result.shape;
    SafetensorsWriter writer(FLAGS_out, {entry}, {{"format", "pt"}});
    writer.Write(result.filters.data(), result.filters.size() * sizeof(float));
    writer.Finish();
  }
};

GF_REGISTER(CommandRegistry, "whiten", WhitenCommand);

}  // namespace
}  // namespace gf
