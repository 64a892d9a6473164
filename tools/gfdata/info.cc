#include "data/prepare/info.h"

#include <cstdio>

#include "tools/gfdata/command.h"
#include "tools/gfdata/common_flags.h"

namespace gf {
namespace {

class InfoCommand : public Command {
 public:
  const char* Usage() const override {
    return R"(  gfdata info SOURCE [--from_format=auto|tar|folder|idx|lmdb]
      Prints what a data set holds: format, images per class, sizes, bytes. Reads headers only.
)";
  }

  int Run(const std::vector<std::string>& arguments) override {
    const DataSetInfo info =
        InspectDataSet(OneArgument(arguments, "info"), Upper(FLAGS_from_format));
    std::fputs(FormatInfo(info).c_str(), stdout);
    return 0;
  }
};

GF_REGISTER(CommandRegistry, "info", InfoCommand);

}  // namespace
}  // namespace gf
