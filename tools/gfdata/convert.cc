#include "data/prepare/convert.h"

#include <gflags/gflags.h>

#include <cstdio>

#include "tools/gfdata/command.h"
#include "tools/gfdata/common_flags.h"

DEFINE_string(from, "", "convert: the data set, a folder, a file or a glob");
DEFINE_string(to, "", "convert: the folder to make");
DEFINE_string(format, "tar", "convert: format to write, tar, folder or idx");
DEFINE_int32(shards, 0, "convert: tar shards, 0 = one per 5,000 images");
DEFINE_bool(grayscale, false, "convert: colour images become grayscale (for idx)");

namespace gf {
namespace {

class ConvertCommand : public Command {
 public:
  const char* Usage() const override {
    return R"(  gfdata convert --from=SOURCE --to=DIR [--format=tar|folder|idx] [--from_format=...]
                 [--shards=N] [--resize=256] [--quality=Q] [--grayscale] [--skip_damaged]
                 [--force]
      Copies a data set into another format. Between tar and folder the image files keep their
      bytes; raw images (idx, some LMDBs) become PNGs, or JPEGs with --quality. --resize makes
      larger images smaller (shorter side) and JPEGs. Shards get index files.
)";
  }

  int Run(const std::vector<std::string>& arguments) override {
    NoArguments(arguments, "convert");
    Require("from", FLAGS_from);
    Require("to", FLAGS_to);
    ConvertOptions options;
    options.from = FLAGS_from;
    options.from_format = Upper(FLAGS_from_format);
    options.to = FLAGS_to;
    options.format = Upper(FLAGS_format);
    options.shards = FLAGS_shards;
    options.quality = FLAGS_quality;
    options.resize = FLAGS_resize;
    options.grayscale = FLAGS_grayscale;
    options.skip_damaged = FLAGS_skip_damaged;
    options.force = FLAGS_force;
    const ConvertResult result = ConvertDataSet(options);
    std::printf("%lld images written to %s, %lld left out as damaged\n",
                static_cast<long long>(result.written), FLAGS_to.c_str(),
                static_cast<long long>(result.skipped));
    ReportOld(result.old);
    return 0;
  }
};

GF_REGISTER(CommandRegistry, "convert", ConvertCommand);

}  // namespace
}  // namespace gf
