#pragma once

#include <tiffio.h>

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <string>

namespace gf {

// Maximum number of bytes that the pixels of a TIFF take, and that libtiff allocates at once. A
// TIFF may have many and wide channels: the number of its pixels alone is no bound.
constexpr int64_t kMaxTiffBytes = int64_t{1} << 30;

// The first image of a TIFF in memory, opened with libtiff. Keeps the library's first error and
// prints nothing.
class TiffFile {
 public:
  // `data` outlives the object. Throws SampleError if the header or the first directory is damaged.
  TiffFile(const uint8_t* data, size_t size);
  ~TiffFile();
  TiffFile(const TiffFile&) = delete;
  TiffFile& operator=(const TiffFile&) = delete;

  TIFF* get() const { return tiff_; }

  // The value of a field that libtiff keeps as uint16_t or uint32_t. `otherwise`: where the file
  // lacks the field and TIFF 6.0 gives no default.
  uint16_t Short(uint32_t tag, uint16_t otherwise = 0) const;
  uint32_t Long(uint32_t tag, uint32_t otherwise = 0) const;

  // Throws SampleError unless all strips or tiles lie in the file.
  void CheckPlaces() const;

  // Whether libtiff has reported an error since the file was opened.
  bool failed() const { return error_[0] != 0; }
  // Throws SampleError "TIFF: what": the library's error, or `otherwise` if it reported none.
  [[noreturn]] void Fail(const std::string& otherwise) const;

 private:
  static tmsize_t Read(thandle_t handle, void* to, tmsize_t bytes);
  static toff_t Seek(thandle_t handle, toff_t offset, int whence);
  static toff_t Size(thandle_t handle);
  static int OnError(TIFF*, void* self, const char* module, const char* format, va_list arguments);

  const uint8_t* const data_;
  const uint64_t size_;
  uint64_t at_ = 0;
  char error_[256] = {};
  TIFF* tiff_ = nullptr;
};

}  // namespace gf
