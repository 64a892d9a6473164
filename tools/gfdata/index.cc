#include <cstdio>

#include "core/error.h"
#include "core/file.h"
#include "core/folder.h"
#include "core/readable.h"
#include "data/formats/record_source.h"
#include "data/formats/tar_walk.h"
#include "tools/command.h"
#include "tools/gfdata/common_flags.h"

namespace gf {
namespace {

// Of files with another ending.
void CheckTar(const std::string& file) {
  std::string format;
  try {
    format = DetectFormat(file);
  } catch (const UserError&) {  // with advice for jobs
    format = "unknown";
  }
  if (format == "TAR") return;
  ThrowUserError(file, " has the format ", format,
                 ", but only shards of the format TAR have indexes: name these alone, e.g. "
                 "'shards/*.tar'");
}

class IndexCommand : public Command {
 public:
  FlagSpec Spec() const override {
    FlagSpec spec;
    spec.summary = "writes an index file (x.idx beside x.tar) for each shard.";
    spec.usage = {"gfdata index SOURCE"};
    spec.examples = {"gfdata index 'shards/*.tar'"};
    spec.groups = {{"Data set", {"labels"}}};
    spec.notes =
        "An older index is replaced. Jobs that find indexes need not walk the shards when they "
        "start.\n";
    return spec;
  }

  bool takes_words() const override { return true; }

  int Run(const Arguments& arguments) override {
    int64_t shards = 0, samples = 0;
    const std::string source = OneArgument(arguments.words, "index");
    for (const std::string& file : ExpandFiles(source, ".tar")) {
      if (HasEnding(file, ".idx")) continue;
      if (!HasEnding(file, ".tar")) CheckTar(file);
      samples += WriteTarIndex(file, LabelsOfFlags());
      ++shards;
    }
    if (samples == 0) {
      ThrowUserError(source, ": 0 images in ", Counted(shards, "shard"), "; expected at least 1");
    }
    std::printf("%s images in %s shards\n", WithCommas(samples).c_str(),
                WithCommas(shards).c_str());
    return 0;
  }
};

GF_REGISTER(CommandRegistry, "index", IndexCommand);

}  // namespace
}  // namespace gf
