#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct XXH3_state_s;

namespace gf {

// Everything here throws UserError with the file's name, what failed and what to do.

// Size and XXH3 (64 bits) of a file's bytes.
struct FileDigest {
  uint64_t bytes = 0;
  uint64_t hash = 0;
  bool operator==(const FileDigest& other) const {
    return bytes == other.bytes && hash == other.hash;
  }
};

// "0123456789abcdef"
std::string HashName(uint64_t hash);

// A new file, written from start to end and hashed on the way.
class SyncedFile {
 public:
  explicit SyncedFile(const std::string& path);
  // Closes; a file that was not finished stays incomplete.
  ~SyncedFile();
  SyncedFile(const SyncedFile&) = delete;
  SyncedFile& operator=(const SyncedFile&) = delete;

  void Write(const void* data, size_t bytes);
  // Makes sure that everything is on the disk and closes.
  FileDigest Finish();

 private:
  std::string path_;
  int fd_ = -1;
  uint64_t bytes_ = 0;
  std::unique_ptr<XXH3_state_s, void (*)(XXH3_state_s*)> hash_;
};

FileDigest DigestFile(const std::string& path);

// Puts the entries of a folder (creations, renames) on the disk.
void SyncFolder(const std::string& path);

// Creates a folder and its parents where missing.
void MakeFolders(const std::string& path);

// Renames within one file system; the target must not exist.
void Rename(const std::string& from, const std::string& to);

// Removes a folder with everything in it; nothing happens if it does not exist.
void RemoveFolder(const std::string& path);

// Names in a folder, sorted, without "." and "..".
std::vector<std::string> ListFolder(const std::string& path);

// Bytes that a user may still write on the folder's file system.
uint64_t FreeBytes(const std::string& folder);

// What an errno means for a file, with advice where there is some: "No space left on device
// (free space or choose another folder)".
std::string ExplainErrno(int error);

}  // namespace gf
