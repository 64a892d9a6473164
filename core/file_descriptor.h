#pragma once

#include <unistd.h>

#include <string>
#include <utility>

namespace gf {

// Owns an open file: closes it when destroyed. -1 = none.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number = -1) : number_(number) {}
  ~FileDescriptor() {
    if (number_ >= 0) close(number_);
  }
  FileDescriptor(FileDescriptor&& other) noexcept : number_(other.Release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int get() const { return number_; }
  // The caller closes it from here on.
  int Release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

// Opens a file for reading and writing at any offset, and creates it if it is missing: for locks
// and for files that processes share. Throws UserError "cannot open PATH: reason".
FileDescriptor OpenOrCreate(const std::string& path);

// Whether somebody can still read what is written to the file: false only for a pipe that its
// reader has closed.
bool HasReader(int file);

}  // namespace gf
