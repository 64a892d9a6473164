#include "tools/gfdata/common_flags.h"

#include <gflags/gflags.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <cstdio>

#include "core/error.h"
#include "core/readable.h"

DEFINE_string(from_format, "auto", "the `FORMAT` to read: auto, tar, folder, list, idx or lmdb");
DEFINE_string(root_folder, "",
              "the `FOLDER` where the paths of a list of image files start; empty = the list's");
DEFINE_string(
    labels, "class",
    "what the labels of an image are, a `TYPE`: class (one class), classes (any number of "
    "them) or values (real numbers)");
DEFINE_string(labels_file, "", "take the labels from this `FILE`, a line \"key labels\" per image");
DEFINE_string(out, "", "the `PATH` to write: a folder, with whiten a file");
DEFINE_int64(images, 0,
             "draw: training images, besides a fifth as many for validation; whiten: the images to "
             "measure, the first ones of train_data; 0 = 20,000 and 5,000");
DEFINE_bool(skip_damaged, false,
            "leave out samples whose files or headers are damaged instead of giving up");
DEFINE_bool(force, false, "move a folder that is in the way aside");
DEFINE_int32(workers, 0, "threads; 0 = one per processor");
DEFINE_string(
    resize, "0",
    "make JPEGs, or PNGs of 16 bits, of another `SIZE`: N, the shorter side of larger "
    "images, or HxW, height and width of all images (256x256); 0 = keep the files' bytes");
DEFINE_int32(quality, 0, "JPEG quality, 1 to 100; 0 = the command's own choice");
DEFINE_uint64(seed, 1, "another seed gives another order or other images");

namespace gf {

std::string Upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

LabelConfig LabelsOfFlags() {
  LabelConfig labels;
  LabelConfig::Type type = LabelConfig::CLASS;
  if (!LabelConfig::Type_Parse(Upper(FLAGS_labels), &type)) {
    ThrowUserError("--labels is \"", FLAGS_labels, "\", must be class, classes or values");
  }
  labels.set_type(type);
  labels.set_file(FLAGS_labels_file);
  return labels;
}

void RequireFlag(const char* flag, const std::string& value) {
  if (value.empty()) ThrowUserError("--", flag, " is missing (see --help)");
}

const std::string& OneArgument(const std::vector<std::string>& words, const char* command) {
  if (words.size() != 1) ThrowUserError(command, ": ", words.size(), " sources, expected 1");
  return words[0];
}

void ReportOld(const std::string& old) {
  if (!old.empty()) std::printf("what was there is now %s\n", old.c_str());
}

ProgressLine::~ProgressLine() {
  if (shown_ && isatty(STDERR_FILENO)) std::fputc('\n', stderr);
}

void ProgressLine::Show(int64_t done, int64_t all, const std::string& more) {
  const bool terminal = isatty(STDERR_FILENO);
  const double now =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  if (start_ < 0) {
    start_ = last_ = now;
    first_ = done;
  }
  if (now - last_ < (terminal ? 0.5 : 60)) return;
  last_ = now;
  shown_ = true;
  const double rate = static_cast<double>(done - first_) / (now - start_);
  const double left = rate > 0 ? static_cast<double>(all - done) / rate : 0;
  std::fprintf(stderr, "%s%s of %s images, %.0f images/s, %.0f s left%s%s", terminal ? "\r" : "",
               WithCommas(done).c_str(), WithCommas(all).c_str(), rate, left, more.c_str(),
               terminal ? "   " : "\n");
  std::fflush(stderr);
}

}  // namespace gf
