#include "data/prepare/verify.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <mutex>

#include "core/error.h"
#include "core/readable.h"
#include "data/loader/workers.h"

namespace gf {
namespace {

constexpr int64_t kPiece = 64;  // samples that a worker takes at a time
constexpr size_t kExamples = 5;

struct Pixels {
  ImageSize size;
  std::vector<uint8_t> rgb;
};

// Decodes an image to RGB. Throws SampleError.
ImageInfo DecodeToRgb(const Record& record, Pixels* pixels) {
  const auto place = [&](ImageSize size) {
    pixels->rgb.resize(size.pixels() * 3);
    return pixels->rgb.data();
  };
  if (record.raw) {
    pixels->size = record.raw_size;
    ConvertChannels(record.data, record.raw_channels, record.raw_size.pixels(), 3,
                    place(record.raw_size));
    return {"", record.raw_size, record.raw_channels, ""};
  }
  const ImageInfo info = ProbeImage(record.data, record.size);
  pixels->size = DecodeImage(record.data, record.size, 3, place);
  return info;
}

// The first image that can be decoded, and its place; a size of 0 if there is none.
struct FirstImage {
  ImageSize size;
  std::string where;
};

FirstImage FindFirstImage(const RecordSource& source) {
  Record record;
  Pixels pixels;
  for (int64_t i = 0; i < source.size(); ++i) {
    try {
      source.Read(i, &record);
      DecodeToRgb(record, &pixels);
      return {pixels.size, source.Where(i)};
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

// What is unusual about an image, or "".
std::string OddityOf(const ImageInfo& info) {
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
                           const SampleProgress& progress, const LabelConfig& labels) {
  const auto source = OpenSource(format, {path, /*skip_damaged=*/true, labels});
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
        oddity = OddityOf(DecodeToRgb(record, &pixels));
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
                                 const LabelConfig& labels) {
  const auto source = OpenSource(format, {path, /*skip_damaged=*/true, labels});
  DataSetStatistics result;
  result.description = source->Describe();
  result.damaged = source->skipped();
  for (const int limit : {32, 64, 128, 192, 256, 320, 384, 512, 768, 1024, 2048, 0}) {
    result.shorter_sides.push_back({limit, 0});
  }
  // Per image, so that the sums do not depend on the order in which workers come.
  struct Sums {
    double mean[3], square[3];
    int64_t bytes;
    ImageSize size;
  };
  std::vector<Sums> sums(source->size());
  std::map<int64_t, std::string> damaged;
  const FirstImage first = pixel_sums != nullptr ? FindFirstImage(*source) : FirstImage();
  ForPieces(source->size(), workers, progress, [&](int64_t i, int64_t last, std::mutex* mutex) {
    Record record;
    Pixels pixels;
    PixelSums piece_sums;
    for (; i < last; ++i) {
      bool color = false;
      try {
        source->Read(i, &record);
        color = DecodeToRgb(record, &pixels).channels != 1;
      } catch (const SampleError& error) {
        std::lock_guard<std::mutex> lock(*mutex);
        damaged[i] = StrCat(source->Where(i), ": ", error.what());
        if (damaged.size() > kExamples) damaged.erase(std::prev(damaged.end()));
        continue;
      }
      if (pixel_sums != nullptr) {
        CheckSameSize(first, pixels.size, source->Where(i));
        piece_sums.Add(pixels.rgb.data(), pixels.size, color);
      }
      Sums& sum = sums[i];
      sum.size = pixels.size;
      sum.bytes = static_cast<int64_t>(record.size);
      const int64_t count = pixels.size.pixels();
      for (int c = 0; c < 3; ++c) {
        uint64_t total = 0, squares = 0;
        for (int64_t p = 0; p < count; ++p) {
          const uint32_t value = pixels.rgb[3 * p + c];
          total += value;
          squares += value * value;
        }
        sum.mean[c] = static_cast<double>(total) / static_cast<double>(count);
        sum.square[c] = static_cast<double>(squares) / static_cast<double>(count);
      }
    }
    if (pixel_sums == nullptr) return;
    std::lock_guard<std::mutex> lock(*mutex);
    pixel_sums->Add(piece_sums);
  });
  for (auto& entry : damaged) result.damaged_examples.push_back(std::move(entry.second));
  double square[3] = {0, 0, 0};
  for (const Sums& sum : sums) {
    if (sum.size.height == 0) {
      ++result.damaged;
      continue;
    }
    ++result.images;
    result.mean_bytes += static_cast<double>(sum.bytes);
    result.mean_pixels += static_cast<double>(sum.size.pixels());
    for (int c = 0; c < 3; ++c) {
      result.mean[c] += sum.mean[c];
      square[c] += sum.square[c];
    }
    const int shorter = std::min(sum.size.height, sum.size.width);
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
  for (int c = 0; c < 3; ++c) {
    result.mean[c] /= images;
    const double variance = square[c] / images - result.mean[c] * result.mean[c];
    result.std[c] = std::sqrt(std::max(0.0, variance));
  }
  return result;
}

}  // namespace gf
