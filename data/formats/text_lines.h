#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/file.h"

namespace gf {

// The lines of a text file in their order, with one piece of the file in memory at a time.
class TextLines {
 public:
  // `file` must outlive the object.
  explicit TextLines(const InputFile* file) : file_(file) {}

  // The next line without what ends it, "\n" or "\r\n"; false after the last one. A byte order mark
  // at the start of the file is left out. Throws UserError "file:line: what" for a line of more
  // than 16 MiB and for one with a NUL byte, which text does not hold.
  bool Next(std::string* line);

  // "file:line" of the last line.
  std::string where() const;
  // Of the last line, from 1 on.
  int64_t number() const { return number_; }

 private:
  bool ReadPiece();

  const InputFile* const file_;
  std::string piece_;
  size_t at_ = 0;  // of the next line in piece_
  int64_t offset_ = 0;
  int64_t number_ = 0;
};

}  // namespace gf
