#pragma once

#include <cstdint>
#include <string>

#include "core/file.h"

namespace gf {

// One regular file in a tar.
struct TarMember {
  std::string name;
  int64_t header_offset = 0;
  int64_t data_offset = 0;
  int64_t size = 0;
};

// Walks the headers of a tar (POSIX ustar and pax, GNU) without reading the files in it.
// Every number is checked against the file: a truncated, damaged or hostile tar gives a
// UserError "path:offset: what".
class TarReader {
 public:
  // `file` must outlive the reader.
  explicit TarReader(const InputFile* file) : TarReader(file, 0, file->size()) {}
  // A tar that lies in a part of a file. Offsets count from the file's begin.
  TarReader(const InputFile* file, int64_t begin, int64_t end)
      : file_(file), begin_(begin), end_(end), offset_(begin) {}

  // The next regular file; folders, links and other kinds are passed over. False at the end
  // of the archive. Archives written one after the other are read as one.
  bool Next(TarMember* member);

  // Reads up to `bytes` at `offset` through the window in which the headers are read.
  size_t Peek(int64_t offset, void* to, size_t bytes);

 private:
  static constexpr int64_t kBlock = 512;
  // Holds a small file's header, its data and the next header.
  static constexpr int64_t kWindow = 4 * kBlock;

  [[noreturn]] void Fail(int64_t offset, const std::string& what) const;
  bool ReadBlock(uint8_t* block);
  void CheckHeader(const uint8_t* block) const;
  int64_t ParseSize(const uint8_t* block) const;
  // The text of an extension header (long name, pax records) of `size` bytes.
  std::string ReadExtension(int64_t size);
  void ParsePax(const std::string& records, int64_t offset);
  void SkipData(int64_t size);

  const InputFile* file_;
  const int64_t begin_, end_;
  int64_t offset_;      // of the next header
  bool ended_ = false;  // an end mark was seen
  // What extension headers say about the next file.
  std::string next_name_;
  int64_t next_size_ = -1;

  uint8_t window_[kWindow];
  int64_t window_offset_ = 0;
  size_t window_bytes_ = 0;
};

}  // namespace gf
