#include "data/image/opencv_library.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <opencv2/core/mat.hpp>
#include <opencv2/core/utils/logger.defines.hpp>
#include <type_traits>

#include "core/error.h"
#include "core/printable.h"
#include "data/image/memory_file.h"
#include "data/image/quiet_errors.h"

namespace gf {
namespace {

constexpr int kNewestMinor = 15;  // OpenCV 4.15
// cv::IMREAD_UNCHANGED, which a header of imgcodecs itself defines.
constexpr int kUnchanged = -1;

// imgcodecs reads its limits from the environment while it is loaded. Threads run by then, and
// setenv is not safe beside a getenv of another thread, so this happens before main, or while a
// host program loads libgfpredict.so.
constexpr char kMostPixelsVariable[] = "OPENCV_IO_MAX_IMAGE_PIXELS";
constexpr char kMostColumnsVariable[] = "OPENCV_IO_MAX_IMAGE_WIDTH";
constexpr char kMostRowsVariable[] = "OPENCV_IO_MAX_IMAGE_HEIGHT";
[[maybe_unused]] const bool limits_are_set = [] {
  setenv(kMostPixelsVariable, std::to_string(kMaxPixels).c_str(), /*overwrite=*/0);
  setenv(kMostColumnsVariable, std::to_string(kMaxSide).c_str(), /*overwrite=*/0);
  setenv(kMostRowsVariable, std::to_string(kMaxSide).c_str(), /*overwrite=*/0);
  setenv("OPENCV_IO_ENABLE_OPENEXR", "1", /*overwrite=*/0);
  return true;
}();

// OpenCV ends the program for other values.
void CheckLimits() {
  for (const char* name : {kMostPixelsVariable, kMostColumnsVariable, kMostRowsVariable}) {
    const char* const value = std::getenv(name);
    if (value == nullptr) continue;
    const size_t length = std::strlen(value);
    if (length > 0 && length <= 15 && std::strspn(value, "0123456789") == length) continue;
    ThrowUserError(name, " is \"", Printable(value),
                   "\", expected a number of at most 15 digits: unset the variable");
  }
}

// Functions of OpenCV. Every use of cv::Mat that would need a symbol goes through them.
struct Functions {
  cv::Mat (*decode)(const cv::_InputArray& file, int flags) = nullptr;
  cv::Mat (*read)(const std::string& path, int flags) = nullptr;
  void (*destroy)(cv::Mat* mat) = nullptr;  // the destructor
  cv::utils::logging::LogLevel (*set_log_level)(cv::utils::logging::LogLevel level) = nullptr;
};

template <typename Function>
void Find(void* library, const char* symbol, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(library, symbol));
  if (!*function) {
    ThrowUserError("OpenCV's imgcodecs lacks the function ", symbol,
                   ", expected OpenCV 4: install libopencv-imgcodecs of the distribution");
  }
}

bool IsLoaded(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD)) return true;
  }
  return false;
}

Functions LoadFunctions(const std::string& format) {
  CheckLimits();
  const std::vector<std::string> names = ImgcodecsNames();
  const bool was_loaded = IsLoaded(names);
  void* const library = LoadImgcodecs(format, names);
  Functions functions;
  // dlsym also finds what libopencv_core, on which imgcodecs depends, defines.
  Find(library, "_ZN2cv8imdecodeERKNS_11_InputArrayEi", &functions.decode);
  Find(library, "_ZN2cv6imreadERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEi",
       &functions.read);
  Find(library, "_ZN2cv3MatD1Ev", &functions.destroy);
  Find(library, "_ZN2cv5utils7logging11setLogLevelENS1_8LogLevelE", &functions.set_log_level);
  // A program that uses OpenCV itself keeps its level.
  if (!was_loaded) functions.set_log_level(cv::utils::logging::LOG_LEVEL_SILENT);
  return functions;
}

// An image as imgcodecs returns it; empty if it cannot be decoded.
class Decoded {
 public:
  // May throw cv::Exception.
  Decoded(const Functions& functions, const uint8_t* data, size_t size, bool needs_path)
      : functions_(functions) {
    if (needs_path) {
      const MemoryFile file(data, size);
      new (&storage_) cv::Mat(functions_.read(file.path(), kUnchanged));
    } else {
      const cv::_InputArray file(data, static_cast<int>(size));
      new (&storage_) cv::Mat(functions_.decode(file, kUnchanged));
    }
  }
  ~Decoded() { functions_.destroy(mat()); }
  Decoded(const Decoded&) = delete;
  Decoded& operator=(const Decoded&) = delete;

  cv::Mat* mat() { return std::launder(reinterpret_cast<cv::Mat*>(&storage_)); }

 private:
  const Functions functions_;
  std::aligned_storage_t<sizeof(cv::Mat), alignof(cv::Mat)> storage_;
};

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

// Throws what an exception of OpenCV means for a file of this format.
[[noreturn]] void Rethrow(const std::string& format, const std::string& what) {
  const auto says = [&](const char* text) { return what.find(text) != std::string::npos; };
  if (says("Insufficient memory")) throw std::bad_alloc();
  if (says("CV_IO_MAX_IMAGE")) {
    throw SampleError(StrCat(format, ": too many pixels, expected sides of 1 to ", kMaxSide,
                             " and at most ", kMaxPixels, " pixels"));
  }
  if (says("codec is disabled")) {
    ThrowUserError(format, ": OpenCV's codec is disabled: set OPENCV_IO_ENABLE_OPENEXR=1");
  }
  throw SampleError(StrCat(format, ": ", FirstLine(what)));
}

PixelType TypeOf(const std::string& format, int depth) {
  switch (depth) {
    case CV_8U:
      return PixelType::kUINT8;
    case CV_16U:
      return PixelType::kUINT16;
    case CV_32F:
      return PixelType::kFP32;
    default:
      throw SampleError(StrCat(format, ": ",
                               depth == CV_8S || depth == CV_16S || depth == CV_32S
                                   ? "signed integers"
                                   : "floating-point numbers of 16 or 64 bits",
                               ", expected unsigned integers of 8 or 16 bits, or floating-point "
                               "numbers of 32 bits: convert the image"));
  }
}

}  // namespace

void DecodeWithOpenCv(const std::string& format, bool needs_path, const uint8_t* data, size_t size,
                      const UseOpenCvImage& use) {
  static const Functions functions = LoadFunctions(format);
  if (size > static_cast<size_t>(kMaxEncodedBytes)) {
    throw SampleError(StrCat(format, ": ", size, " bytes, expected at most ", kMaxEncodedBytes));
  }
  std::unique_ptr<Decoded> decoded;
  try {
    const QuietErrors quiet;  // OpenCV prints the errors that it throws
    decoded = std::make_unique<Decoded>(functions, data, size, needs_path);
  } catch (const UserError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    Rethrow(format, error.what());
  }
  const cv::Mat& mat = *decoded->mat();
  if (!mat.data) {
    throw SampleError(StrCat(format,
                             ": OpenCV cannot decode it: the file is truncated or damaged, or of a "
                             "kind that this OpenCV does not read"));
  }
  const int channels = CV_MAT_CN(mat.flags);
  if (mat.dims != 2 || !(mat.flags & cv::Mat::CONTINUOUS_FLAG) || channels > kMaxChannels) {
    throw SampleError(
        StrCat(format, ": ", channels, " channels, expected an image of 1 to ", kMaxChannels));
  }
  CheckImageSize(format.c_str(), mat.rows, mat.cols);
  use(mat.data, {mat.rows, mat.cols}, {TypeOf(format, CV_MAT_DEPTH(mat.flags)), channels});
}

std::vector<std::string> ImgcodecsNames() {
  std::vector<std::string> names;
  for (int minor = kNewestMinor; minor >= 0; --minor) {
    char name[64];
    std::snprintf(name, sizeof(name), "libopencv_imgcodecs.so.4%02d", minor);
    names.push_back(name);
  }
  return names;
}

void* LoadImgcodecs(const std::string& format, const std::vector<std::string>& names) {
  std::string problem;
  for (const std::string& name : names) {
    if (void* library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL)) return library;
    const char* error = dlerror();
    // Worth telling: the library is there and cannot be loaded.
    const std::string absent = name + ": cannot open shared object file: No such file";
    if (problem.empty() && error && std::string(error).find(absent) != 0) problem = error;
  }
  ThrowUserError(
      format, ": reading it needs OpenCV's imgcodecs, which ",
      problem.empty() ? "is not installed" : StrCat("cannot be loaded (", FirstLine(problem), ")"),
      ": install libopencv-imgcodecs406 (Debian 12) or libopencv-imgcodecs410 (Debian "
      "13), or convert the images to PNG");
}

}  // namespace gf
