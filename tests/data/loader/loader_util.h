#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "data/loader/loader.h"
#include "tests/data/test_util.h"

namespace gf {

inline DataConfig Config(const std::string& source, int batch, int workers = 2) {
  DataConfig config;
  config.set_source(source);
  config.set_batch_size(batch);
  config.set_workers(workers);
  return config;
}

// Images are resized to side x side, of which parts are cut at random.
inline DataConfig CropConfig(const std::string& source, int batch, int side, int crop) {
  DataConfig config = Config(source, batch);
  config.set_resize_height(side);
  config.set_resize_width(side);
  config.set_crop_size(crop);
  config.set_random_crop(true);
  return config;
}

inline LoaderOptions Ranked(LoaderOptions::Mode mode, int rank, int world) {
  LoaderOptions options;
  options.mode = mode;
  options.rank = rank;
  options.world = world;
  return options;
}

// The numbers of the images of a batch of WriteShard's images; padding left out.
inline std::vector<int> Numbers(const Batch& batch) {
  std::vector<int> numbers;
  const int64_t bytes = batch.images.desc.shape.count(1, 4);
  for (int64_t i = 0; i < batch.size() - batch.padding; ++i) {
    numbers.push_back(batch.images.as<uint8_t>()[i * bytes]);
  }
  return numbers;
}

inline std::vector<uint8_t> Bytes(const Batch& batch) {
  const auto* data = batch.images.as<uint8_t>();
  return std::vector<uint8_t>(data, data + batch.images.desc.bytes());
}

// Writes a shard of `count` JPEGs of several sizes; each is a class of its own.
inline void WritePictures(const std::string& path, int count) {
  TarWriter tar(path);
  for (int i = 0; i < count; ++i) {
    const ImageSize size = {40 + i % 5, 60 - i % 7};
    const auto jpeg = EncodeJpeg(Gradient(size, 3, 3 * i).data(), size, 3, 90);
    tar.Add(StrCat("s", i, ".jpg"), jpeg.data(), jpeg.size());
    tar.Add(StrCat("s", i, ".cls"), std::to_string(i).data(), std::to_string(i).size());
  }
  tar.Close();
}

// Writes a shard of `count` images of which those in `bad` are cut PNGs.
inline void WriteDamagedShard(const std::string& path, int count, const std::set<int>& bad) {
  TarWriter tar(path);
  for (int i = 0; i < count; ++i) {
    std::string png = FlatPng({4, 4}, i);
    if (bad.count(i)) png.resize(png.size() / 2);
    tar.Add(StrCat("s", i, ".png"), png.data(), png.size());
    tar.Add(StrCat("s", i, ".cls"), "0", 1);
  }
  tar.Close();
}

}  // namespace gf
