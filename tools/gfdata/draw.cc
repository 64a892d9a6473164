#include "data/prepare/draw.h"

#include <gflags/gflags.h>

#include <cstdio>

#include "tools/gfdata/command.h"
#include "tools/gfdata/common_flags.h"

DEFINE_int64(images, 20000, "draw: training images; a fifth as many are added for validation");
DEFINE_int32(size, 32, "draw: height and width of the images");

namespace gf {
namespace {

class DrawCommand : public Command {
 public:
  const char* Usage() const override {
    return R"(  gfdata draw --out=DIR [--images=20000] [--size=32] [--seed=1] [--force]
      Draws a data set of shapes in ten classes: train-*.tar and val-*.tar.
)";
  }

  int Run(const std::vector<std::string>& arguments) override {
    NoArguments(arguments, "draw");
    Require("out", FLAGS_out);
    DrawOptions options;
    options.folder = FLAGS_out;
    options.images = FLAGS_images;
    options.size = FLAGS_size;
    options.seed = FLAGS_seed;
    options.force = FLAGS_force;
    const std::string old = DrawDataSet(options);
    std::printf("%lld training and %lld validation images drawn in %s\n",
                static_cast<long long>(FLAGS_images),
                static_cast<long long>((FLAGS_images + 4) / 5), FLAGS_out.c_str());
    ReportOld(old);
    return 0;
  }
};

GF_REGISTER(CommandRegistry, "draw", DrawCommand);

}  // namespace
}  // namespace gf
