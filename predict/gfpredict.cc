#include "predict/gfpredict.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>

#include "core/error.h"
#include "core/version.h"
#include "predict/predictor.h"

struct gf_predictor {
  explicit gf_predictor(const gf::PredictionOptions& options) : predictor(options) {}

  std::mutex mutex;  // of every call of Predict
  gf::Predictor predictor;
};

namespace {

void SetError(const std::string& message, char* error, size_t error_size) {
  if (error == nullptr || error_size == 0) return;
  const size_t length = std::min(message.size(), error_size - 1);
  std::memcpy(error, message.data(), length);
  error[length] = '\0';
}

// Runs `body`; an exception becomes a return code and a message.
template <typename Body>
int Guarded(char* error, size_t error_size, const Body& body) {
  try {
    SetError("", error, error_size);
    body();
    return GF_OK;
  } catch (const std::exception& thrown) {
    const gf::Failure failure = gf::Describe(thrown);
    SetError(failure.message, error, error_size);
    return failure.exit_code == 2 ? GF_USER_ERROR : GF_INTERNAL_ERROR;
  } catch (...) {
    SetError("unknown exception", error, error_size);
    return GF_INTERNAL_ERROR;
  }
}

std::string TextOf(const char* text) { return text == nullptr ? "" : text; }

// The caller's options as this version knows them.
gf_options Known(const gf_options* given) {
  constexpr size_t kMostBytes = 4096;
  gf_options known = {};
  if (given->size < sizeof(given->size) || given->size > kMostBytes) {
    gf::ThrowUserError("gf_options.size is ", given->size, ", expected sizeof(gf_options): set it");
  }
  const auto* const bytes = reinterpret_cast<const char*>(given);
  for (size_t i = sizeof(known); i < given->size; ++i) {
    if (bytes[i] != 0) {
      gf::ThrowUserError("gf_options has a member that this version of libgfpredict, ",
                         gf::kVersion, ", does not know: leave it 0, or use a newer version");
    }
  }
  std::memcpy(&known, given, std::min(given->size, sizeof(known)));
  return known;
}

gf::PredictionOptions OptionsOf(const char* path, const gf_options* given) {
  if (path == nullptr || *path == '\0') {
    gf::ThrowUserError("the path is missing: name a checkpoint's folder, or a file of weights");
  }
  const gf_options known = given == nullptr ? gf_options{} : Known(given);
  gf::PredictionOptions options;
  options.checkpoint = path;
  options.net = TextOf(known.net);
  options.weights = TextOf(known.weights);
  options.config = TextOf(known.config);
  options.preprocessing = TextOf(known.preprocessing);
  if (known.device != nullptr) options.device = known.device;
  options.threads = known.threads;
  options.batch_size = known.batch_size == 0 ? 1 : known.batch_size;
  options.bgr = known.bgr != 0;
  if (known.note != nullptr) {
    options.note = [note = known.note, user = known.note_user](const std::string& text) {
      note(text.c_str(), user);
    };
  }
  return options;
}

void CheckArguments(const gf_predictor* predictor, const void* images, const float* results) {
  if (predictor == nullptr) gf::ThrowUserError("the predictor is NULL");
  if (images == nullptr) gf::ThrowUserError("the image is NULL");
  if (results == nullptr) gf::ThrowUserError("probabilities is NULL");
}

// Predicts `count` images, of which fill(i, input) describes each. explain(i, error) is the message
// about an image that failed.
template <typename Fill, typename Explain>
void Predict(gf_predictor* predictor, size_t count, const Fill& fill, const Explain& explain,
             float* probabilities) {
  const std::lock_guard<std::mutex> lock(predictor->mutex);
  const auto classes = static_cast<size_t>(predictor->predictor.classes());
  size_t filled = 0, done = 0;
  predictor->predictor.Predict(
      [&](gf::ImageInput* input) {
        if (filled == count) return false;
        fill(filled++, input);
        return true;
      },
      [&](const gf::ImageInput&, const gf::Prediction& result) {
        if (!result.error.empty()) throw gf::UserError(explain(done, result.error));
        std::copy_n(result.probabilities, classes, probabilities + done++ * classes);
      });
}

}  // namespace

gf_predictor* gf_load(const char* path, const gf_options* options, char* error, size_t error_size) {
  std::unique_ptr<gf_predictor> predictor;
  Guarded(error, error_size,
          [&] { predictor = std::make_unique<gf_predictor>(OptionsOf(path, options)); });
  return predictor.release();
}

void gf_free(gf_predictor* predictor) { delete predictor; }

int gf_output_kind(const gf_predictor* predictor) {
  if (predictor == nullptr) return GF_CLASS;
  switch (predictor->predictor.labels()) {
    case gf::LabelConfig::CLASS:
      break;
    case gf::LabelConfig::CLASSES:
      return GF_CLASSES;
    case gf::LabelConfig::VALUES:
      return GF_VALUES;
  }
  return GF_CLASS;
}

int gf_classes(const gf_predictor* predictor) {
  return predictor == nullptr ? 0 : static_cast<int>(predictor->predictor.classes());
}

const char* gf_class_name(const gf_predictor* predictor, int index) {
  if (predictor == nullptr) return nullptr;
  const std::string& name = predictor->predictor.class_name(index);
  return name.empty() ? nullptr : name.c_str();
}

int gf_predict_file(gf_predictor* predictor, const char* path, float* probabilities, char* error,
                    size_t error_size) {
  return Guarded(error, error_size, [&] {
    CheckArguments(predictor, path, probabilities);
    Predict(
        predictor, 1, [&](size_t, gf::ImageInput* input) { input->file = path; },
        [&](size_t, const std::string& why) {
          return why.find(path) == std::string::npos ? gf::StrCat(path, ": ", why) : why;
        },
        probabilities);
  });
}

int gf_predict_memory(gf_predictor* predictor, const void* data, size_t size, float* probabilities,
                      char* error, size_t error_size) {
  return Guarded(error, error_size, [&] {
    CheckArguments(predictor, data, probabilities);
    Predict(
        predictor, 1,
        [&](size_t, gf::ImageInput* input) {
          input->encoded = static_cast<const uint8_t*>(data);
          input->encoded_bytes = size;
        },
        [](size_t, const std::string& why) { return why; }, probabilities);
  });
}

int gf_predict_pixels(gf_predictor* predictor, const uint8_t* pixels, size_t count, int height,
                      int width, int channels, size_t row_stride, size_t image_stride,
                      float* probabilities, char* error, size_t error_size) {
  return Guarded(error, error_size, [&] {
    CheckArguments(predictor, pixels, probabilities);
    if (channels < 1 || channels > gf::kMaxChannels) {
      gf::ThrowUserError("channels is ", channels,
                         ", must be 1 (gray), 3 (RGB), or the network's number, up to ",
                         gf::kMaxChannels);
    }
    gf::CheckImageSize("pixels", height, width);
    const size_t row = static_cast<size_t>(width) * static_cast<size_t>(channels);
    if (row_stride == 0) row_stride = row;
    if (row_stride < row || row_stride > SIZE_MAX / 2 / static_cast<size_t>(height)) {
      gf::ThrowUserError("row_stride is ", row_stride, ", must be at least width x channels, ", row,
                         ", and height rows must fit into memory");
    }
    const size_t least = row_stride * (static_cast<size_t>(height) - 1) + row;
    if (image_stride == 0) image_stride = row_stride * static_cast<size_t>(height);
    if (image_stride < least || (count > 0 && image_stride > SIZE_MAX / 2 / count)) {
      gf::ThrowUserError("image_stride is ", image_stride, ", must be at least ", least,
                         ", the bytes of an image, and ", count, " images must fit into memory");
    }
    Predict(
        predictor, count,
        [&](size_t i, gf::ImageInput* input) {
          input->pixels = pixels + i * image_stride;
          input->size = {height, width};
          input->channels = channels;
          input->row_bytes = static_cast<int64_t>(row_stride);
        },
        [](size_t i, const std::string& why) { return gf::StrCat("image ", i, ": ", why); },
        probabilities);
  });
}

const char* gf_version(void) { return gf::kVersion; }
