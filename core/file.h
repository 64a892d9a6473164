#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/file_descriptor.h"
#include "core/printable.h"

namespace gf {

// Note [Files]: core/file.h (reading), core/output_file.h (writing) and core/folder.h are the only
// places that open, replace, rename and remove files. Their errors are UserErrors of one form,
// "cannot VERB PATH: reason (advice)".

// What an errno says about a file, with advice where there is some: "No space left on device (free
// some space, or write to another folder)".
std::string ExplainErrno(int error);

// Throws UserError "cannot VERB PATH: reason (advice)". verb: "open", "rename", ...
[[noreturn]] void ThrowFileError(const std::string& verb, const std::string& path, int error);

// A regular file opened for reading at any offset, from any thread.
class InputFile {
 public:
  // Throws UserError if it cannot be opened or is not a regular file. Never waits for a pipe.
  explicit InputFile(const std::string& path);
  InputFile(InputFile&& other) = default;
  InputFile& operator=(InputFile&&) = delete;

  const std::string& path() const { return path_; }
  // Bytes, when it was opened.
  int64_t size() const { return size_; }
  // For libraries that read by themselves, from the start; the file stays the owner.
  int descriptor() const { return descriptor_.get(); }

  // Reads up to `bytes` bytes at `offset` (bytes from the start); fewer only at the end of the
  // file. Returns how many. Throws UserError when the system reports an error.
  size_t ReadAt(int64_t offset, void* to, size_t bytes) const;
  // These bytes will be read soon: lets the system fetch them meanwhile.
  void WillRead(int64_t offset, int64_t bytes) const;

 private:
  std::string path_;
  FileDescriptor descriptor_;
  int64_t size_ = 0;
};

// The whole of a small regular file. Throws UserError if it is larger than `limit` bytes.
std::string ReadSmallFile(const std::string& path, int64_t limit);

// Like ReadSmallFile, but also takes pipes and devices, and waits for them: for files that the user
// names on the command line, such as /dev/stdin.
std::string ReadFileOrPipe(const std::string& path, int64_t limit);

// How many files this process may have open; raises the limit as far as that is allowed.
int64_t OpenFileLimit();

// Whether the name has the ending, in upper or lower case.
bool HasEnding(const std::string& name, const std::string& ending);

}  // namespace gf
