#include "data/prepare/draw.h"

#include <gflags/gflags.h>

#include <cstdio>

#include "tools/command.h"
#include "tools/gfdata/common_flags.h"

DEFINE_int32(size, 32, "height and width of the images");

namespace gf {
namespace {

class DrawCommand : public Command {
 public:
  FlagSpec Spec() const override {
    FlagSpec spec;
    spec.summary = "draws a data set of shapes in ten classes: train-*.tar and val-*.tar.";
    spec.usage = {"gfdata draw --out=DIR [FLAGS]"};
    spec.examples = {"gfdata draw --out=shapes --images=1000"};
    spec.groups = {{"Data set", {"out", "images", "size", "seed", "force"}}};
    return spec;
  }

  int Run(const Arguments& arguments) override {
    RequireFlag("out", FLAGS_out);
    DrawOptions options;
    options.folder = FLAGS_out;
    if (FLAGS_images != 0) options.images = FLAGS_images;
    options.size = FLAGS_size;
    options.seed = FLAGS_seed;
    options.force = FLAGS_force;
    const std::string old = DrawDataSet(options);
    std::printf("%lld training and %lld validation images drawn in %s\n",
                static_cast<long long>(options.images),
                static_cast<long long>((options.images + 4) / 5), FLAGS_out.c_str());
    ReportOld(old);
    return 0;
  }
};

GF_REGISTER(CommandRegistry, "draw", DrawCommand);

}  // namespace
}  // namespace gf
