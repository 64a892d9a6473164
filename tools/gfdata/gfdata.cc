// Looks at data sets, converts them and draws one.

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <string>

#include "core/error.h"
#include "data/convert.h"
#include "data/draw.h"
#include "data/info.h"

DEFINE_string(from, "", "convert: the data set, a folder, a file or a glob");
DEFINE_string(to, "", "convert: the folder to make");
DEFINE_string(format, "tar", "convert: format to write, tar, folder or idx");
DEFINE_string(from_format, "auto", "info, convert: format to read, auto, tar, folder or idx");
DEFINE_int32(shards, 0, "convert: tar shards, 0 = one per 5,000 images");
DEFINE_int32(quality, 0, "convert: idx images become JPEGs of this quality, 0 = PNGs");
DEFINE_bool(grayscale, false, "convert: colour images become grayscale (for idx)");
DEFINE_bool(skip_damaged, false, "convert: leave out damaged samples instead of giving up");
DEFINE_bool(force, false, "convert, draw: move a folder that is in the way aside");
DEFINE_string(out, "", "draw: the folder to make");
DEFINE_int64(images, 20000, "draw: training images; a fifth as many are added for validation");
DEFINE_uint64(seed, 1, "draw: another seed gives other images");
DEFINE_int32(size, 32, "draw: height and width of the images");

namespace gf {
namespace {

constexpr char kUsage[] = R"(Usage:
  gfdata info SOURCE [--from_format=auto|tar|folder|idx]
      Prints what a data set holds: format, images per class, sizes, bytes.
  gfdata convert --from=SOURCE --to=DIR [--format=tar|folder|idx] [--from_format=...]
                 [--shards=N] [--quality=Q] [--grayscale] [--skip_damaged] [--force]
      Copies a data set into another format. Between tar and folder the image files keep their
      bytes; idx images become PNGs, or JPEGs with --quality.
  gfdata draw --out=DIR [--images=20000] [--size=32] [--seed=1] [--force]
      Draws a data set of shapes in ten classes: train-*.tar and val-*.tar.

SOURCE is a folder, a file or a glob ("shards/train-*.tar"): tar shards with <key>.jpg, .jpeg or
.png and <key>.cls; a folder with one folder of images per class; or an idx3 file of images with
its idx1 labels beside it, gzipped or not.
)";

std::string Upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

void Require(const char* flag, const std::string& value) {
  if (value.empty()) ThrowUserError("--", flag, " is missing; gfdata --help shows the usage");
}

void ReportOld(const std::string& old) {
  if (!old.empty()) std::printf("what was there is now %s\n", old.c_str());
}

int Info(int count, char** arguments) {
  if (count != 1) ThrowUserError("info: ", count, " sources, expected 1");
  const DataSetInfo info = InspectDataSet(arguments[0], Upper(FLAGS_from_format));
  std::fputs(FormatInfo(info).c_str(), stdout);
  return 0;
}

int Convert() {
  Require("from", FLAGS_from);
  Require("to", FLAGS_to);
  ConvertOptions options;
  options.from = FLAGS_from;
  options.from_format = Upper(FLAGS_from_format);
  options.to = FLAGS_to;
  options.format = Upper(FLAGS_format);
  options.shards = FLAGS_shards;
  options.quality = FLAGS_quality;
  options.grayscale = FLAGS_grayscale;
  options.skip_damaged = FLAGS_skip_damaged;
  options.force = FLAGS_force;
  const ConvertResult result = ConvertDataSet(options);
  std::printf("%lld images written to %s, %lld left out as damaged\n",
              static_cast<long long>(result.written), FLAGS_to.c_str(),
              static_cast<long long>(result.skipped));
  ReportOld(result.old);
  return 0;
}

int Draw() {
  Require("out", FLAGS_out);
  DrawOptions options;
  options.folder = FLAGS_out;
  options.images = FLAGS_images;
  options.size = FLAGS_size;
  options.seed = FLAGS_seed;
  options.force = FLAGS_force;
  const std::string old = DrawDataSet(options);
  std::printf("%lld training and %lld validation images drawn in %s\n",
              static_cast<long long>(FLAGS_images), static_cast<long long>((FLAGS_images + 4) / 5),
              FLAGS_out.c_str());
  ReportOld(old);
  return 0;
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
      std::fputs(kUsage, stdout);
      return 0;
    }
  }
  if (argc < 2) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  CheckFlags(argc, argv);
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv[0]);
  gflags::ParseCommandLineFlags(&argc, &argv, /*remove_flags=*/true);
  const std::string command = argc > 1 ? argv[1] : "";
  if (command != "info" && argc > 2) {
    ThrowUserError("\"", argv[2], "\" is not expected after ", command);
  }
  if (command == "info") return Info(argc - 2, argv + 2);
  if (command == "convert") return Convert();
  if (command == "draw") return Draw();
  ThrowUserError("unknown command \"", command, "\" (known: info, convert, draw)");
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) { return gf::RunMain(gf::Main, argc, argv); }
