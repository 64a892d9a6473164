#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/config/net.pb.h"
#include "data/loader/loader.h"
#include "tests/data/loader/loader_util.h"

namespace gf {

inline constexpr ImageSize kSize = {9, 11};

// Pixels without any order, so that a part occurs at one place only.
inline std::vector<uint8_t> Noise(ImageSize size, int channels, int seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> pixels(size.pixels() * channels);
  for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(random() % 256);
  return pixels;
}

// The value of a mean image for channel c of R, G, B, or for gray.
inline float MeanAt(int c, int y, int x) {
  return 100 + 30.25f * static_cast<float>(c) + 5.5f * static_cast<float>(y) -
         3.125f * static_cast<float>(x);
}

// A mean image in Caffe's order of channels, with the older form of the shape if `old`.
inline BlobProto MeanBlob(ImageSize size, int channels, bool old = false) {
  BlobProto blob;
  if (old) {
    blob.set_num(1);
    blob.set_channels(channels);
    blob.set_height(size.height);
    blob.set_width(size.width);
  } else {
    for (const int dim : {channels, size.height, size.width}) blob.mutable_shape()->add_dim(dim);
  }
  for (int c = channels - 1; c >= 0; --c) {
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) blob.add_data(MeanAt(c, y, x));
    }
  }
  return blob;
}

class MeanFileTest : public testing::Test {
 protected:
  // A shard of PNGs of noise; image i has the label i.
  void WriteNoise(int count, int channels) const {
    TarWriter tar(folder_ / "a.tar");
    for (int i = 0; i < count; ++i) {
      const std::string png = ToText(EncodePng(Noise(kSize, channels, i).data(), kSize, channels));
      tar.Add(StrCat("s", i, ".png"), png.data(), png.size());
      tar.Add(StrCat("s", i, ".cls"), std::to_string(i).data(), std::to_string(i).size());
    }
    tar.Close();
  }

  // A config with a mean image.
  DataConfig MeanConfig(int batch, int channels, const BlobProto& mean, int workers = 2) const {
    DataConfig config = Config(folder_ / "a.tar", batch, workers);
    config.set_channels(channels);
    WriteFile(folder_ / "mean.binaryproto", mean.SerializeAsString());
    config.set_mean_file(folder_ / "mean.binaryproto");
    return config;
  }

  static std::string Error(const DataConfig& config,
                           LoaderOptions::Mode mode = LoaderOptions::kTrain) {
    return ErrorOf([&] {
      Loader loader(config, Ranked(mode, 0, 1));
      for (int i = 0; i < 4; ++i) loader.Next();
    });
  }

  static bool Has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  const TempFolder folder_;
};

}  // namespace gf
