#include "core/file_digest.h"

#include <xxhash.h>

#include <cstdio>
#include <new>
#include <vector>

#include "core/file.h"

namespace gf {
namespace {

using Hash = std::unique_ptr<XXH3_state_s, void (*)(XXH3_state_s*)>;

Hash NewHash() {
  Hash hash(XXH3_createState(), [](XXH3_state_s* state) { XXH3_freeState(state); });
  if (!hash) throw std::bad_alloc();
  XXH3_64bits_reset(hash.get());
  return hash;
}

}  // namespace

std::string HashName(uint64_t hash) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

FileDigest DigestFile(const std::string& path) {
  const InputFile file(path);
  const Hash hash = NewHash();
  FileDigest digest;
  std::vector<char> buffer(size_t{1} << 20);
  while (const size_t n =
             file.ReadAt(static_cast<int64_t>(digest.bytes), buffer.data(), buffer.size())) {
    XXH3_64bits_update(hash.get(), buffer.data(), n);
    digest.bytes += n;
  }
  digest.hash = XXH3_64bits_digest(hash.get());
  return digest;
}

HashedFile::HashedFile(const std::string& path) : file_(path), hash_(NewHash()) {}

void HashedFile::Write(const void* data, size_t bytes) {
  XXH3_64bits_update(hash_.get(), data, bytes);
  bytes_ += bytes;
  file_.Write(data, bytes);
}

FileDigest HashedFile::Finish() {
  file_.Close();
  return {bytes_, XXH3_64bits_digest(hash_.get())};
}

}  // namespace gf
