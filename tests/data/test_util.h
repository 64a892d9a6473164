#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "core/error.h"
#include "data/formats/tar_writer.h"
#include "data/image/image.h"

namespace gf {

// A folder of the running test, removed with it.
class TempFolder {
 public:
  TempFolder() {
    const char* base = std::getenv("TEST_TMPDIR");
    std::string name = std::string(base ? base : "/tmp") + "/gf-XXXXXX";
    path_ = mkdtemp(&name[0]);
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline void WriteFile(const std::string& path, const std::string& bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// The message of the UserError that `body` throws; fails the test if it throws none.
inline std::string ErrorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const UserError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no UserError was thrown";
  return "";
}

// Pixel (y, x, c) of a test image: smooth, so that JPEG keeps it nearly.
inline std::vector<uint8_t> Gradient(ImageSize size, int channels, int shift = 0) {
  std::vector<uint8_t> pixels;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      for (int c = 0; c < channels; ++c) {
        pixels.push_back(static_cast<uint8_t>((3 * y + 2 * x + 40 * c + shift) % 200 + 20));
      }
    }
  }
  return pixels;
}

// The pixel at place `i` of an axis of `size` >= 2 pixels whose reflections go on without end: 0 1
// 2 1 0 1 2 for three pixels.
inline int Reflected(int i, int size) {
  const int period = 2 * (size - 1), place = (i % period + period) % period;
  return place < size ? place : period - place;
}

inline std::string ToText(const std::vector<uint8_t>& bytes) {
  return std::string(bytes.begin(), bytes.end());
}

// A PNG of one color: decoded, every byte is `value`.
inline std::string FlatPng(ImageSize size, int value, int channels = 3) {
  const std::vector<uint8_t> pixels(size.pixels() * channels, static_cast<uint8_t>(value));
  return ToText(EncodePng(pixels.data(), size, channels));
}

// Writes a shard of `count` flat images "s<first>".. whose first pixel is their number
// (modulo 256) and whose label is their number modulo `classes`.
inline void WriteShard(const std::string& path, int first, int count, int classes,
                       ImageSize size = {4, 4}) {
  TarWriter tar(path);
  for (int i = first; i < first + count; ++i) {
    const std::string png = FlatPng(size, i % 256), label = std::to_string(i % classes);
    tar.Add(StrCat("s", i, ".png"), png.data(), png.size());
    tar.Add(StrCat("s", i, ".cls"), label.data(), label.size());
  }
  tar.Close();
}

// $GF_DATA_DIR/name, or nothing where the real data are absent.
inline std::string RealData(const std::string& name) {
  const char* folder = std::getenv("GF_DATA_DIR");
  if (!folder || !std::filesystem::exists(std::string(folder) + "/" + name)) return "";
  return std::string(folder) + "/" + name;
}

#define GF_REAL_DATA_OR_SKIP(variable, name)         \
  const std::string variable = ::gf::RealData(name); \
  if (variable.empty()) GTEST_SKIP() << "SKIPPED: GF_DATA_DIR is not set or has no " << name

}  // namespace gf
