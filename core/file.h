#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gf {

// A regular file opened for reading at any offset, from any thread.
class InputFile {
 public:
  // Throws UserError if it cannot be opened or is not a regular file.
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;

  const std::string& path() const { return path_; }
  // Bytes, when it was opened.
  int64_t size() const { return size_; }

  // Reads up to `bytes` bytes at `offset`; fewer only at the end of the file. Returns how
  // many. Throws UserError "path:offset: ..." when the system reports an error.
  size_t ReadAt(int64_t offset, void* to, size_t bytes) const;
  // These bytes will be read soon: lets the system fetch them meanwhile.
  void WillRead(int64_t offset, int64_t bytes) const;

 private:
  std::string path_;
  int fd_ = -1;
  int64_t size_ = 0;
};

// How many files this process may have open; raises the limit as far as that is allowed.
int64_t OpenFileLimit();

// A file that is written from start to end.
class OutputFile {
 public:
  // Creates or empties the file. Throws UserError, as do the others (disk full, ...).
  explicit OutputFile(const std::string& path);
  // Closes without a word; what counts is Close().
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void Write(const void* data, size_t bytes);
  // Writes what is buffered through to the disk and closes.
  void Close();

 private:
  [[noreturn]] void Fail(const char* what) const;

  std::string path_;
  FILE* file_ = nullptr;
};

// The whole of a small file. Throws UserError if it is larger than `limit` bytes.
std::string ReadSmallFile(const std::string& path, int64_t limit);

// The files that a folder (those with this ending), a glob or a file's own name stand for,
// in byte order. Throws UserError if there are none.
std::vector<std::string> ExpandFiles(const std::string& source, const std::string& ending);

bool IsFolder(const std::string& path);
bool IsFile(const std::string& path);
// Whether the name has the ending, in upper or lower case.
bool HasEnding(const std::string& name, const std::string& ending);

// The text with bytes that a terminal would act upon replaced by '?'; for names out of files.
std::string Printable(const std::string& text);

}  // namespace gf
