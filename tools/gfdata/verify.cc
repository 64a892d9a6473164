#include "data/prepare/verify.h"

#include <cstdio>

#include "core/readable.h"
#include "tools/command.h"
#include "tools/gfdata/common_flags.h"

namespace gf {
namespace {

class VerifyCommand : public Command {
 public:
  FlagSpec Spec() const override {
    FlagSpec spec;
    spec.summary = "decodes every image and lists the damaged ones.";
    spec.usage = {"gfdata verify SOURCE [FLAGS]"};
    spec.examples = {"gfdata verify 'shards/train-*.tar'"};
    spec.groups = {
        {"Data set", {"from_format", "root_folder", "labels", "labels_file", "workers"}}};
    spec.notes =
        "Also counts unusual images (grayscale, CMYK, ...). Exit code 2 if something is damaged.\n";
    return spec;
  }

  bool takes_words() const override { return true; }

  int Run(const Arguments& arguments) override {
    const Verification result = Verify(OneArgument(arguments.words, "verify"));
    for (const std::string& damaged : result.damaged) std::printf("damaged: %s\n", damaged.c_str());
    std::printf("%s\n", result.description.c_str());
    const auto row = [](const std::string& name, int64_t count) {
      std::printf("  %-20s %12s\n", name.c_str(), WithCommas(count).c_str());
    };
    row("decoded", result.images - static_cast<int64_t>(result.damaged.size()));
    for (const auto& oddity : result.oddities) row("  " + oddity.first, oddity.second);
    row("damaged", static_cast<int64_t>(result.damaged.size()));
    row("not in the index", result.left_out);
    return result.damaged.empty() && result.left_out == 0 ? 0 : 2;
  }

 private:
  static Verification Verify(const std::string& source) {
    ProgressLine line;
    return VerifyDataSet(
        source, Upper(FLAGS_from_format), FLAGS_workers,
        [&](int64_t done, int64_t all) { line.Show(done, all); }, LabelsOfFlags(),
        FLAGS_root_folder);
  }
};

GF_REGISTER(CommandRegistry, "verify", VerifyCommand);

}  // namespace
}  // namespace gf
