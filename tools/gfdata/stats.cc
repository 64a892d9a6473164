#include <gflags/gflags.h>

#include <cstdio>

#include "core/readable.h"
#include "data/prepare/pixel_sums.h"
#include "data/prepare/verify.h"
#include "tools/command.h"
#include "tools/gfdata/common_flags.h"

DEFINE_string(mean_file, "",
              "also write the mean image to this `FILE`, Caffe's mean.binaryproto; all images must "
              "have one size");

namespace gf {
namespace {

class StatsCommand : public Command {
 public:
  FlagSpec Spec() const override {
    FlagSpec spec;
    spec.summary = "prints the pixels' mean and standard deviation, and the images' sizes.";
    spec.usage = {"gfdata stats SOURCE [FLAGS]"};
    spec.examples = {"gfdata stats 'shards/train-*.tar' --workers=8",
                     "gfdata stats train_lmdb --mean_file=mean.binaryproto"};
    spec.groups = {{"Data set", {"from_format", "root_folder", "labels", "labels_file", "workers"}},
                   {"Result", {"mean_file"}}};
    spec.notes =
        "Every image counts alike. Mean and deviation have the form of a config. Exit code "
        "2 if no image can be decoded.\n";
    return spec;
  }

  bool takes_words() const override { return true; }

  int Run(const Arguments& arguments) override {
    CheckOutputFile("mean_file", FLAGS_mean_file);
    PixelSums sums;
    const DataSetStatistics result =
        Measure(OneArgument(arguments.words, "stats"), FLAGS_mean_file.empty() ? nullptr : &sums);
    std::printf("%s; %s measured, %s damaged\n", result.description.c_str(),
                WithCommas(result.images).c_str(), WithCommas(result.damaged).c_str());
    for (const std::string& example : result.damaged_examples) {
      std::printf("  %s\n", example.c_str());
    }
    PrintMeans(result);
    std::printf("\n%.0f bytes and %.0f pixels per image\nshorter side    images\n",
                result.mean_bytes, result.mean_pixels);
    int from = 1;
    for (const DataSetStatistics::Bucket& bucket : result.shorter_sides) {
      if (bucket.images > 0) {
        const std::string to = bucket.limit > 0 ? std::to_string(bucket.limit - 1) : "";
        std::printf("%5d to %4s  %8s\n", from, to.c_str(), WithCommas(bucket.images).c_str());
      }
      from = bucket.limit;
    }
    if (FLAGS_mean_file.empty()) return 0;
    sums.WriteMean(FLAGS_mean_file);
    std::printf("mean image of %s (channels x height x width) written to %s\n",
                sums.shape().ToString().c_str(), FLAGS_mean_file.c_str());
    return 0;
  }

 private:
  static void PrintMeans(const DataSetStatistics& result) {
    const PixelFormat& format = result.format;
    if (format == PixelFormat()) {
      std::printf(
          "for train_data and validation_data, in the order R, G, B (one of them with channels: "
          "1):\n");
    } else {
      std::printf("for train_data and validation_data with channels: %d pixel_type: %s:\n",
                  format.channels, Name(format.type));
    }
    const int digits = format.type == PixelType::kFP32 ? 6 : 3;
    for (const double mean : result.mean) std::printf("mean: %.*f ", digits, mean);
    std::printf("\n");
    for (const double std : result.std) std::printf("std: %.*f ", digits, std);
  }

  static DataSetStatistics Measure(const std::string& source, PixelSums* sums) {
    ProgressLine line;
    return MeasureDataSet(
        source, Upper(FLAGS_from_format), FLAGS_workers,
        [&](int64_t done, int64_t all) { line.Show(done, all); }, sums, LabelsOfFlags(),
        FLAGS_root_folder);
  }
};

GF_REGISTER(CommandRegistry, "stats", StatsCommand);

}  // namespace
}  // namespace gf
