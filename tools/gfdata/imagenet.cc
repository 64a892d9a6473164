#include "data/prepare/imagenet.h"

#include <gflags/gflags.h>

#include <cstdio>

#include "core/error.h"
#include "core/telemetry/telemetry.h"
#include "tools/gfdata/command.h"
#include "tools/gfdata/common_flags.h"

DEFINE_string(train, "", "imagenet: ILSVRC2012_img_train.tar");
DEFINE_string(val, "", "imagenet: ILSVRC2012_img_val.tar");
DEFINE_string(synsets, "", "imagenet: the list of synsets in the order of the classes");
DEFINE_string(val_labels, "", "imagenet: the list of the validation images' classes");
DEFINE_string(id_map, "", "imagenet: the development kit's list of synsets and ids");
DEFINE_int32(train_shards, 1024, "imagenet: shards of training images");
DEFINE_int32(val_shards, 128, "imagenet: shards of validation images");

namespace gf {
namespace {

class ImageNetCommand : public Command {
 public:
  const char* Usage() const override {
    return R"(  gfdata imagenet --train=ILSVRC2012_img_train.tar --val=ILSVRC2012_img_val.tar --out=DIR
                  --val_labels=FILE [--id_map=FILE] [--synsets=FILE] [--resize=256]
                  [--quality=92] [--train_shards=1024] [--val_shards=128] [--seed=1]
                  [--workers=N] [--skip_damaged]
      Packs the official archives into shuffled shards of equal size with index files. Ended
      early, the same command goes on. --val_labels: a synset per line, "name class" per line, or
      the development kit's ids with --id_map=map_clsloc.txt. --resize makes larger images smaller
      (shorter side) and JPEGs of --quality.
)";
  }

  int Run(const std::vector<std::string>& arguments) override {
    NoArguments(arguments, "imagenet");
    Require("out", FLAGS_out);
    ImageNetOptions options;
    options.train = FLAGS_train;
    options.val = FLAGS_val;
    options.synsets = FLAGS_synsets;
    options.val_labels = FLAGS_val_labels;
    options.id_map = FLAGS_id_map;
    options.out = FLAGS_out;
    options.train_shards = FLAGS_train_shards;
    options.val_shards = FLAGS_val_shards;
    options.resize = FLAGS_resize;
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
