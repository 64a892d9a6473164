#include "data/image/tiff_file.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

#include "data/image/image.h"

namespace gf {
namespace {

tmsize_t WriteNothing(thandle_t, void*, tmsize_t) { return -1; }

int CloseNothing(thandle_t) { return 0; }

int IgnoreWarning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

}  // namespace

TiffFile::TiffFile(const uint8_t* data, size_t size) : data_(data), size_(size) {
  const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                             TIFFOpenOptionsFree);
  if (!options) throw std::bad_alloc();
  // Handlers of this file: the library's global ones belong to all threads, and to OpenCV.
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), OnError, this);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), IgnoreWarning, nullptr);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), kMaxTiffBytes);
  // r: read; m: do not map the file; c: take the strips as they are.
  tiff_ = TIFFClientOpenExt("TIFF", "rmc", this, Read, WriteNothing, Seek, CloseNothing, Size,
                            nullptr, nullptr, options.get());
  if (!tiff_) Fail("damaged");
  // What was reported and yet let the file be opened concerns fields that do not matter here.
  error_[0] = 0;
}

TiffFile::~TiffFile() {
  if (tiff_) TIFFClose(tiff_);
}

uint16_t TiffFile::Short(uint32_t tag, uint16_t otherwise) const {
  uint16_t value = 0;
  return TIFFGetFieldDefaulted(tiff_, tag, &value) ? value : otherwise;
}

uint32_t TiffFile::Long(uint32_t tag, uint32_t otherwise) const {
  uint32_t value = 0;
  return TIFFGetFieldDefaulted(tiff_, tag, &value) ? value : otherwise;
}

void TiffFile::CheckPlaces() const {
  const bool tiled = TIFFIsTiled(tiff_);
  const uint32_t count = tiled ? TIFFNumberOfTiles(tiff_) : TIFFNumberOfStrips(tiff_);
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t offset = TIFFGetStrileOffset(tiff_, i);
    const uint64_t bytes = TIFFGetStrileByteCount(tiff_, i);
    if (bytes > 0 && offset <= size_ && bytes <= size_ - offset) continue;
    throw SampleError(StrCat("TIFF: ", tiled ? "tile " : "strip ", i, " of ", count, " has ", bytes,
                             " bytes at ", offset, " of a file of ", size_,
                             " bytes: the file is truncated or damaged"));
  }
}

void TiffFile::Fail(const std::string& otherwise) const {
  throw SampleError(StrCat("TIFF: ", failed() ? std::string(error_) : otherwise));
}

tmsize_t TiffFile::Read(thandle_t handle, void* to, tmsize_t bytes) {
  auto* self = static_cast<TiffFile*>(handle);
  if (bytes <= 0 || self->at_ >= self->size_) return 0;
  const uint64_t count = std::min(static_cast<uint64_t>(bytes), self->size_ - self->at_);
  std::memcpy(to, self->data_ + self->at_, count);
  self->at_ += count;
  return static_cast<tmsize_t>(count);
}

toff_t TiffFile::Seek(thandle_t handle, toff_t offset, int whence) {
  auto* self = static_cast<TiffFile*>(handle);
  // A place beyond the end is allowed: nothing can be read there.
  const uint64_t base = whence == SEEK_CUR ? self->at_ : whence == SEEK_END ? self->size_ : 0;
  self->at_ = base + offset;
  return self->at_;
}

toff_t TiffFile::Size(thandle_t handle) { return static_cast<TiffFile*>(handle)->size_; }

int TiffFile::OnError(TIFF*, void* self, const char*, const char* format, va_list arguments) {
  auto* file = static_cast<TiffFile*>(self);
  // The first error is the cause of later ones.
  if (!file->failed()) {
    std::vsnprintf(file->error_, sizeof(file->error_), format, arguments);
    // A message must not be empty, which would mean no error.
    if (!file->failed()) std::snprintf(file->error_, sizeof(file->error_), "damaged");
  }
  return 1;  // no other handler is called
}

}  // namespace gf
