// gfdata: looks at data sets, converts them and makes them; each command is a file of its own.

#include <glog/logging.h>

#include "core/error.h"
#include "tools/command.h"

namespace gf {
namespace {

constexpr char kSources[] =
    R"(SOURCE is a folder, a file or a glob ("shards/train-*.tar"): tar shards with <key>.jpg (or
another image) and <key>.cls; a folder with one folder of images per class; a list of image
files, a line "path label" each; an idx3 file of images with its idx1 labels beside it, gzipped
or not; or a Caffe LMDB. With --labels_file, a folder may hold images in any way.
)";

int Main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv[0]);
  Program program;
  program.name = "gfdata";
  program.summary = "looks at data sets, converts them and makes them.";
  program.notes = kSources;
  return RunCommand(argc, argv, program);
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) { return gf::RunMain(gf::Main, argc, argv); }
