#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/file_descriptor.h"

namespace gf {

// Whether a file survives a crash of the machine. Syncing waits for the disk, for seconds if the
// disk is busy.
enum class Durability { kSynced, kUnsynced };

// A file that is written from start to end. All functions throw UserError "cannot write PATH:
// reason" (disk full, no rights, ...).
class OutputFile {
 public:
  enum class Mode {
    kEmpty,   // what the file held is lost
    kAppend,  // what is written comes after what the file holds
  };

  // Creates the file if it is missing.
  explicit OutputFile(const std::string& path, Mode mode = Mode::kEmpty);
  // Closes without a word; what counts is Close().
  ~OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void Write(const void* data, size_t bytes);
  void Write(std::string_view text) { Write(text.data(), text.size()); }
  // Hands what is buffered to the system, so that other processes see it.
  void Flush();
  // Writes everything through to the disk and closes. A pipe or device is only closed.
  void Close();
  // Hands everything to the system and closes; a crash of the machine may lose it.
  void CloseWithoutSync();

 private:
  friend void ReplaceFile(const std::string& path, const std::function<void(OutputFile*)>& writer,
                          Durability durability);
  // Opens `path`; errors name `shown`.
  OutputFile(const std::string& path, Mode mode, const std::string& shown);
  void WriteThrough(const char* data, size_t bytes);

  std::string shown_;
  FileDescriptor descriptor_;
  std::vector<char> buffer_;
};

// Writes a file that appears, or takes an older file's place, only when it is complete:
// writer(file) fills a temporary file beside it, which is synced and renamed; then the folder is
// synced. kUnsynced leaves out both syncs. If anything fails, an older file stays as it was, the
// temporary file is removed, and the exception (UserError, or the writer's) goes on. A symbolic
// link is followed. A pipe, a device and /dev/stdout are written to directly. The new file has the
// mode of new files, not the mode of the older one.
void ReplaceFile(const std::string& path, const std::function<void(OutputFile*)>& writer,
                 Durability durability = Durability::kSynced);
void ReplaceFile(const std::string& path, std::string_view text,
                 Durability durability = Durability::kSynced);

// Renames a file or folder within one file system; a file of the new name is replaced, a folder
// must be empty. Lasting only after SyncFolder. Throws UserError "cannot rename ...".
void Rename(const std::string& from, const std::string& to);

}  // namespace gf
