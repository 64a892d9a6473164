#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/file.h"

namespace gf {

// Note [Our own reader of LMDB]
// liblmdb maps the file into memory and believes every number in it, so that a damaged page, or a
// file that becomes shorter while it is read, ends the process by a signal. This reader takes pages
// with ReadAt and checks each of them before it follows a number of it. It reads what liblmdb 0.9
// writes on 64-bit machines, and needs the tree of the main database only: lists of free pages and
// the lock file are for writers.

// A key and its value.
struct LmdbRecord {
  std::string_view key;  // valid during the call
  // Where in the file the value lies.
  int64_t offset = 0;
  uint32_t bytes = 0;
  // The value, valid during the call, or null if it has pages of its own, which were not read.
  const uint8_t* value = nullptr;
};

// The main database of an LMDB's data file.
class LmdbFile {
 public:
  // Reads both headers; the one of the later transaction counts. `file` must outlive the object.
  // Throws UserError "path:offset: page N: what" for anything but an LMDB, and for a file that is
  // shorter than its header says.
  explicit LmdbFile(const InputFile* file);

  // Calls `body` for each record, in the order of the keys. Throws UserError for a page that is
  // damaged, and for databases that hold other databases or several values per key.
  void ForEach(const std::function<void(const LmdbRecord&)>& body) const;

 private:
  class Walk;

  // A header, of which there are two.
  struct Header {
    uint64_t page_bytes = 0;
    uint64_t transaction = 0, last_page = 0;
    // Of the main database.
    uint64_t flags = 0, depth = 0, records = 0, root = 0;
  };

  Header ReadHeader(uint64_t page, int64_t offset) const;
  [[noreturn]] void Fail(uint64_t page, int64_t offset, const std::string& what) const;

  const InputFile* const file_;
  Header header_;
};

}  // namespace gf
