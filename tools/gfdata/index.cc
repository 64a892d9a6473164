#include <cstdio>

#include "core/file.h"
#include "core/folder.h"
#include "core/telemetry/telemetry.h"
#include "data/formats/tar_walk.h"
#include "tools/gfdata/command.h"
#include "tools/gfdata/common_flags.h"

namespace gf {
namespace {

class IndexCommand : public Command {
 public:
  const char* Usage() const override {
    return R"(  gfdata index SOURCE
      Writes an index file (x.idx beside x.tar) for each shard, in place of an older one: jobs that
      find them need not walk the shards when they start.
)";
  }

  int Run(const std::vector<std::string>& arguments) override {
    int64_t shards = 0, samples = 0;
    for (const std::string& file : ExpandFiles(OneArgument(arguments, "index"), ".tar")) {
      if (HasEnding(file, ".idx")) continue;
      samples += WriteTarIndex(file);
      ++shards;
    }
    std::printf("%s images in %s shards\n", WithCommas(samples).c_str(),
                WithCommas(shards).c_str());
    return 0;
  }
};

GF_REGISTER(CommandRegistry, "index", IndexCommand);

}  // namespace
}  // namespace gf
