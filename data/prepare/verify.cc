#include "data/prepare/verify.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <mutex>

#include "core/error.h"
#include "core/readable.h"
#include "data/image/convert_pixels.h"
#include "data/loader/workers.h"

namespace gf {
namespace {

constexpr int64_t kPiece = 64;  // samples that a worker takes at a time
constexpr size_t kExamples = 5;

struct Pixels {
  ImageSize size;
  PixelFormat format;
  std::vector<uint8_t> bytes;
};

// Whether pixels have 1 or 3 channels of 8 bits. Such images may be mixed in a data set.
bool IsCommon(PixelFormat format) {
  return format.type == PixelType::kUINT8 && (format.channels == 1 || format.channels == 3);
}

// Decodes an image: common ones to RGB, others to their own format. Throws SampleError.
ImageInfo DecodePixels(const Record& record, Pixels* pixels) {
  const ImageInfo info = RecordInfo(record);
  pixels->format = IsCommon(info.pixel_format()) ? PixelFormat() : info.pixel_format();
  const auto place = [&](ImageSize size) {
    pixels->size = size;
    pixels->bytes.resize(size.pixels() * pixels->format.bytes());
    return pixels->bytes.data();
  };
  if (record.raw) {
    DecodeRequest request;
    request.format = pixels->format;
    ConvertPixels(record.data, record.raw_format, record.raw_size.pixels(), request,
                  place(record.raw_size));
  } else {
    DecodeImage(record.data, record.size, pixels->format, place);
  }
  return info;
}

// Writes mean and mean square of each channel. Sum: a type that holds the sum of squares.
template <typename T, typename Sum>
void Average(const Pixels& pixels, double* mean, double* square) {
  const auto* const numbers = reinterpret_cast<const T*>(pixels.bytes.data());
  const int64_t channels = pixels.format.channels, count = pixels.size.pixels();
  for (int64_t c = 0; c < channels; ++c) {
    Sum total = 0, squares = 0;
    for (int64_t p = 0; p < count; ++p) {
      const Sum value = numbers[channels * p + c];
      total += value;
      squares += value * value;
    }
    mean[c] = static_cast<double>(total) / static_cast<double>(count);
    square[c] = static_cast<double>(squares) / static_cast<double>(count);
  }
}

void Average(const Pixels& pixels, double* mean, double* square) {
  switch (pixels.format.type) {
    case PixelType::kUINT8:
      return Average<uint8_t, uint64_t>(pixels, mean, square);
    case PixelType::kUINT16:
      return Average<uint16_t, uint64_t>(pixels, mean, square);
    case PixelType::kFP32:
      return Average<float, double>(pixels, mean, square);
  }
}

// The first image that can be decoded, and its place; a size of 0 if there is none.
struct FirstImage {
  ImageSize size;
  PixelFormat format;
  std::string where;
};

FirstImage FindFirstImage(const RecordSource& source) {
  Record record;
  Pixels pixels;
  for (int64_t i = 0; i < source.size(); ++i) {
    try {
      source.Read(i, &record);
      DecodePixels(record, &pixels);
      return {pixels.size, pixels.format, source.Where(i)};
    } catch (const SampleError&) {  // counted later
    }
  }
  return {};
}

void CheckSameSize(const FirstImage& first, ImageSize size, const std::string& where) {
  if (size == first.size) return;
  ThrowUserError(where, ": an image of ", size.ToString(), ", but ", first.where, " has ",
                 first.size.ToString(),
                 ": a mean image needs images of one size; gfdata convert --resize=",
                 first.size.height, "x", first.size.width, " makes such a data set");
}

void CheckSameFormat(const FirstImage& first, PixelFormat format, const std::string& where) {
  if (format == first.format) return;
  ThrowUserError(where, ": an image of ", format.ToString(), ", but ", first.where, " has ",
                 first.format.ToString(),
                 ": only images of 1 or 3 channels of UINT8 may be mixed; measure the others as "
                 "data sets of their own");
}

// What is unusual about an image, or "".
std::string OddityOf(const ImageInfo& info) {
  if (!IsCommon(info.pixel_format())) return info.pixel_format().ToString();
  if (std::strcmp(info.format, "GIF") == 0 || std::strcmp(info.format, "PNG") == 0) {
    return info.format;
  }
  if (*info.oddity != 0) return info.oddity;
  return info.channels == 1 ? "grayscale" : "";
}

// Calls body(first, last) for pieces of the samples, from several threads.
void ForPieces(int64_t size, int workers, const SampleProgress& progress,
               const std::function<void(int64_t, int64_t, std::mutex*)>& body) {
  std::mutex mutex;
  int64_t done = 0;
  RunWorkers(workers, (size + kPiece - 1) / kPiece, [&](int64_t piece) {
    const int64_t first = piece * kPiece, last = std::min(size, first + kPiece);
    body(first, last, &mutex);
    std::lock_guard<std::mutex> lock(mutex);
    done += last - first;
    progress(done, size);
  });
}

}  // namespace

Verification VerifyDataSet(const std::string& path, const std::string& format, int workers,
                           const SampleProgress& progress, const LabelConfig& labels,
                           const std::string& root_folder) {
  const auto source = OpenSource(format, {path, /*skip_damaged=*/true, labels, root_folder});
  Verification result;
  result.description = source->Describe();
  result.images = source->size();
  result.left_out = source->skipped();
  std::map<int64_t, std::string> damaged;
  ForPieces(source->size(), workers, progress, [&](int64_t i, int64_t last, std::mutex* mutex) {
    Record record;
    Pixels pixels;
    for (; i < last; ++i) {
      std::string error, oddity;
      try {
        source->Read(i, &record);
        oddity = OddityOf(DecodePixels(record, &pixels));
      } catch (const SampleError& e) {
        error = StrCat(source->Where(i), ": ", e.what());
      }
      if (error.empty() && oddity.empty()) continue;
      std::lock_guard<std::mutex> lock(*mutex);
      if (!error.empty()) {
        damaged[i] = error;
      } else {
        ++result.oddities[oddity];
      }
    }
  });
  // PNGs are odd among other images only.
  const auto pngs = result.oddities.find("PNG");
  const int64_t decoded = result.images - static_cast<int64_t>(damaged.size());
  if (pngs != result.oddities.end() && pngs->second == decoded) result.oddities.erase(pngs);
  for (auto& entry : damaged) result.damaged.push_back(std::move(entry.second));
  return result;
}

DataSetStatistics MeasureDataSet(const std::string& path, const std::string& format, int workers,
                                 const SampleProgress& progress, PixelSums* pixel_sums,
                                 const LabelConfig& labels, const std::string& root_folder) {
  const auto source = OpenSource(format, {path, /*skip_damaged=*/true, labels, root_folder});
  DataSetStatistics result;
  result.description = source->Describe();
  result.damaged = source->skipped();
  for (const int limit : {32, 64, 128, 192, 256, 320, 384, 512, 768, 1024, 2048, 0}) {
    result.shorter_sides.push_back({limit, 0});
  }
  // Per image, so that the sums do not depend on the order in which workers come.
  struct Sizes {
    int64_t bytes;
    ImageSize size;
  };
  std::vector<Sizes> sizes(source->size());
  std::map<int64_t, std::string> damaged;
  const FirstImage first = FindFirstImage(*source);
  result.format = first.format;
  const int channels = first.format.channels;
  std::vector<double> means(source->size() * channels), squares(source->size() * channels);
  ForPieces(source->size(), workers, progress, [&](int64_t i, int64_t last, std::mutex* mutex) {
    Record record;
    Pixels pixels;
    PixelSums piece_sums;
    for (; i < last; ++i) {
      bool color = false;
      try {
        source->Read(i, &record);
        const ImageInfo info = DecodePixels(record, &pixels);
        color = info.channels != 1 || !IsCommon(info.pixel_format());
      } catch (const SampleError& error) {
        std::lock_guard<std::mutex> lock(*mutex);
        damaged[i] = StrCat(source->Where(i), ": ", error.what());
        if (damaged.size() > kExamples) damaged.erase(std::prev(damaged.end()));
        continue;
      }
      CheckSameFormat(first, pixels.format, source->Where(i));
      if (pixel_sums != nullptr) {
        CheckSameSize(first, pixels.size, source->Where(i));
        piece_sums.Add(pixels.bytes.data(), pixels.size, pixels.format, color);
      }
      sizes[i] = {static_cast<int64_t>(record.size), pixels.size};
      Average(pixels, &means[i * channels], &squares[i * channels]);
    }
    if (pixel_sums == nullptr) return;
    std::lock_guard<std::mutex> lock(*mutex);
    pixel_sums->Add(piece_sums);
  });
  for (auto& entry : damaged) result.damaged_examples.push_back(std::move(entry.second));
  result.mean.resize(channels);
  std::vector<double> square(channels);
  for (int64_t i = 0; i < source->size(); ++i) {
    const ImageSize& size = sizes[i].size;
    if (size.height == 0) {
      ++result.damaged;
      continue;
    }
    ++result.images;
    result.mean_bytes += static_cast<double>(sizes[i].bytes);
    result.mean_pixels += static_cast<double>(size.pixels());
    for (int c = 0; c < channels; ++c) {
      result.mean[c] += means[i * channels + c];
      square[c] += squares[i * channels + c];
    }
    const int shorter = std::min(size.height, size.width);
    for (DataSetStatistics::Bucket& bucket : result.shorter_sides) {
      if (bucket.limit != 0 && shorter >= bucket.limit) continue;
      ++bucket.images;
      break;
    }
  }
  if (result.images == 0) {
    std::string examples;
    for (const std::string& example : result.damaged_examples) examples += "\n  " + example;
    ThrowUserError(path, ": none of its ", Counted(source->size(), "image"),
                   " can be decoded, so there is nothing to measure:", examples);
  }
  const auto images = static_cast<double>(result.images);
  result.mean_bytes /= images;
  result.mean_pixels /= images;
  for (int c = 0; c < channels; ++c) {
    result.mean[c] /= images;
    const double variance = square[c] / images - result.mean[c] * result.mean[c];
    result.std.push_back(std::sqrt(std::max(0.0, variance)));
  }
  return result;
}

}  // namespace gf
