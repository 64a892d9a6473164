#include "data/prepare/info.h"

#include <cstdio>

#include "tools/command.h"
#include "tools/gfdata/common_flags.h"

namespace gf {
namespace {

class InfoCommand : public Command {
 public:
  FlagSpec Spec() const override {
    FlagSpec spec;
    spec.summary = "prints format, images per class, sizes and bytes; reads headers only.";
    spec.usage = {"gfdata info SOURCE [FLAGS]"};
    spec.examples = {"gfdata info 'shards/train-*.tar'"};
    spec.groups = {{"Data set", {"from_format", "root_folder", "labels", "labels_file"}}};
    return spec;
  }

  bool takes_words() const override { return true; }

  int Run(const Arguments& arguments) override {
    const DataSetInfo info =
        InspectDataSet(OneArgument(arguments.words, "info"), Upper(FLAGS_from_format),
                       LabelsOfFlags(), FLAGS_root_folder);
    std::fputs(FormatInfo(info).c_str(), stdout);
    return 0;
  }
};

GF_REGISTER(CommandRegistry, "info", InfoCommand);

}  // namespace
}  // namespace gf
