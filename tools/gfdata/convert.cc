#include "data/prepare/convert.h"

#include <gflags/gflags.h>

#include <cstdio>

#include "core/readable.h"
#include "tools/command.h"
#include "tools/gfdata/common_flags.h"

DEFINE_string(from, "", "the data set's `SOURCE`: a folder, a file or a glob");
DEFINE_string(to, "", "the `FOLDER` to make");
DEFINE_string(format, "tar", "the `FORMAT` to write: tar, folder, idx or lmdb");
DEFINE_int32(shards, 0, "tar: how many shards; 0 = one per 5,000 images");
DEFINE_bool(grayscale, false, "idx: color images become grayscale");

namespace gf {
namespace {

class ConvertCommand : public Command {
 public:
  FlagSpec Spec() const override {
    FlagSpec spec;
    spec.summary = "copies a data set into another format.";
    spec.usage = {"gfdata convert --from=SOURCE --to=DIR [FLAGS]"};
    spec.examples = {"gfdata convert --from=mnist/train-images-idx3-ubyte --to=mnist_tar",
                     "gfdata convert --from='shards/*.tar' --to=images --format=folder",
                     "gfdata convert --from=images --to=lmdb --format=lmdb --resize=256x256",
                     "gfdata convert --from=images --labels=classes --labels_file=tags.csv "
                     "--to=shards",
                     "gfdata convert --from=train.txt --root_folder=/data/train --to=shards"};
    spec.groups = {{"Data sets",
                    {"from", "from_format", "root_folder", "labels", "labels_file", "to", "format",
                     "shards", "force"}},
                   {"Images", {"resize", "quality", "grayscale", "skip_damaged"}}};
    spec.notes =
        "Between tar, folder and lmdb the image files keep their bytes. Raw images (idx, some "
        "LMDBs) become PNGs, or JPEGs with --quality; in an LMDB they stay raw without it. Shards "
        "get index files.\n";
    return spec;
  }

  int Run(const Arguments& arguments) override {
    RequireFlag("from", FLAGS_from);
    RequireFlag("to", FLAGS_to);
    ConvertOptions options;
    options.from = FLAGS_from;
    options.from_format = Upper(FLAGS_from_format);
    options.labels = LabelsOfFlags();
    options.root_folder = FLAGS_root_folder;
    options.to = FLAGS_to;
    options.format = Upper(FLAGS_format);
    options.shards = FLAGS_shards;
    options.quality = FLAGS_quality;
    options.resize = ParseResize(FLAGS_resize);
    options.grayscale = FLAGS_grayscale;
    options.skip_damaged = FLAGS_skip_damaged;
    options.force = FLAGS_force;
    const ConvertResult result = ConvertDataSet(options);
    std::printf("%s written to %s, %s left out as damaged\n",
                Counted(result.written, "image").c_str(), FLAGS_to.c_str(),
                WithCommas(result.skipped).c_str());
    ReportOld(result.old);
    return 0;
  }
};

GF_REGISTER(CommandRegistry, "convert", ConvertCommand);

}  // namespace
}  // namespace gf
