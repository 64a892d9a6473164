// Looks at data sets, converts them and makes them: gfdata --help.

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "core/error.h"
#include "tools/gfdata/command.h"

namespace gf {
namespace {

constexpr char kSources[] = R"(
SOURCE is a folder, a file or a glob ("shards/train-*.tar"): tar shards with <key>.jpg, .jpeg or
.png and <key>.cls; a folder with one folder of images per class; an idx3 file of images with its
idx1 labels beside it, gzipped or not; or a Caffe LMDB.
)";

void PrintUsage(FILE* out) {
  std::fputs("Usage:\n", out);
  const CommandRegistry& registry = CommandRegistry::Get();
  for (const std::string& name : registry.Keys()) {
    std::fputs(registry.Create("command", name)->Usage(), out);
  }
  std::fputs(kSources, out);
}

// gflags would exit with 1 for a flag that it does not know.
void CheckFlags(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (name == "--") return;
    if (name.size() < 2 || name[0] != '-') continue;
    name = name.substr(name.find_first_not_of('-'));
    name = name.substr(0, name.find('='));
    std::replace(name.begin(), name.end(), '-', '_');
    gflags::CommandLineFlagInfo info;
    if (gflags::GetCommandLineFlagInfo(name.c_str(), &info)) continue;
    if (name.rfind("no", 0) == 0 && gflags::GetCommandLineFlagInfo(name.c_str() + 2, &info))
      continue;
    ThrowUserError("unknown flag ", argv[i], "; gfdata --help shows the usage");
  }
}

int Main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--help" || argument == "-h" || argument == "help") {
      PrintUsage(stdout);
      return 0;
    }
  }
  if (argc < 2) {
    PrintUsage(stderr);
    return 2;
  }
  CheckFlags(argc, argv);
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv[0]);
  gflags::ParseCommandLineFlags(&argc, &argv, /*remove_flags=*/true);
  const auto command = CommandRegistry::Get().Create("command", argc > 1 ? argv[1] : "");
  return command->Run(std::vector<std::string>(argv + std::min(argc, 2), argv + argc));
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) { return gf::RunMain(gf::Main, argc, argv); }
