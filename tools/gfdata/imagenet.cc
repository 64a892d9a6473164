#include "data/prepare/imagenet.h"

#include <gflags/gflags.h>

#include <cstdio>

#include "core/error.h"
#include "core/readable.h"
#include "tools/command.h"
#include "tools/gfdata/common_flags.h"

DEFINE_string(train, "", "the `FILE` of the training images, ILSVRC2012_img_train.tar");
DEFINE_string(val, "", "the `FILE` of the validation images, ILSVRC2012_img_val.tar");
DEFINE_string(val_labels, "",
              "the `FILE` of the validation images' classes: a synset per line, \"name class\" per "
              "line, or the development kit's ids with --id_map");
DEFINE_string(id_map, "", "the development kit's `FILE` of synsets and ids, map_clsloc.txt");
DEFINE_string(synsets, "", "the `FILE` of synsets in the order of the classes");
DEFINE_int32(train_shards, 1024, "shards of training images");
DEFINE_int32(val_shards, 128, "shards of validation images");

namespace gf {
namespace {

class ImageNetCommand : public Command {
 public:
  FlagSpec Spec() const override {
    FlagSpec spec;
    spec.summary = "packs ImageNet's archives into shuffled shards of equal size.";
    spec.usage = {"gfdata imagenet --train=FILE --val=FILE --val_labels=FILE --out=DIR [FLAGS]"};
    spec.examples = {
        "gfdata imagenet --train=ILSVRC2012_img_train.tar --val=ILSVRC2012_img_val.tar "
        "--val_labels=val.txt --out=imagenet --resize=256"};
    spec.groups = {{"Archives", {"train", "val", "val_labels", "id_map", "synsets"}},
                   {"Shards",
                    {"out", "train_shards", "val_shards", "seed", "resize", "quality",
                     "skip_damaged", "workers"}}};
    spec.notes =
        "Shards get index files. If interrupted, run the same command again to continue. --quality "
        "is 92 if it is not given.\n";
    return spec;
  }

  int Run(const Arguments& arguments) override {
    RequireFlag("out", FLAGS_out);
    ImageNetOptions options;
    options.train = FLAGS_train;
    options.val = FLAGS_val;
    options.synsets = FLAGS_synsets;
    options.val_labels = FLAGS_val_labels;
    options.id_map = FLAGS_id_map;
    options.out = FLAGS_out;
    options.train_shards = FLAGS_train_shards;
    options.val_shards = FLAGS_val_shards;
    options.resize = ParseResize(FLAGS_resize);
    if (FLAGS_quality != 0) options.quality = FLAGS_quality;
    options.seed = FLAGS_seed;
    options.skip_damaged = FLAGS_skip_damaged;
    options.workers = FLAGS_workers;
    const ImageNetProgress result = Pack(options);
    std::printf("%s images in %s shards in %s", WithCommas(result.images - result.damaged).c_str(),
                WithCommas(result.shards).c_str(), FLAGS_out.c_str());
    if (result.found > 0)
      std::printf(", %s of them there before", WithCommas(result.found).c_str());
    if (result.damaged > 0)
      std::printf(", %s left out as damaged", WithCommas(result.damaged).c_str());
    std::printf("\n");
    return 0;
  }

 private:
  static ImageNetProgress Pack(const ImageNetOptions& options) {
    ProgressLine line;
    return PackImageNet(options, [&](const ImageNetProgress& progress) {
      line.Show(progress.images_done, progress.images,
                StrCat(", shard ", progress.shards_done, " of ", progress.shards));
    });
  }
};

GF_REGISTER(CommandRegistry, "imagenet", ImageNetCommand);

}  // namespace
}  // namespace gf
