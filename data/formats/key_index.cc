#include "data/formats/key_index.h"

#include <algorithm>
#include <functional>

#include "core/error.h"
#include "core/file.h"
#include "core/printable.h"
#include "data/image/image_names.h"

namespace gf {
namespace {

uint64_t HashOf(const std::string& key) { return std::hash<std::string>()(key); }

}  // namespace

std::string WithoutImageEnding(const std::string& name) {
  return IsImageName(name) || HasEnding(name, ".gif") ? name.substr(0, name.rfind('.')) : name;
}

KeyIndex::KeyIndex(const RecordSource& source) : source_(source) {
  entries_.reserve(source.size());
  for (int64_t i = 0; i < source.size(); ++i) entries_.emplace_back(HashOf(source.Key(i)), i);
  std::sort(entries_.begin(), entries_.end());
  for (size_t i = 0; i < entries_.size(); ++i) {
    const std::string key = source.Key(entries_[i].second);
    for (size_t k = i; k-- > 0 && entries_[k].first == entries_[i].first;) {
      if (source.Key(entries_[k].second) != key) continue;
      ThrowUserError(source.Where(entries_[i].second), ": the key \"", Printable(key),
                     "\" belongs to ", source.Where(entries_[k].second),
                     ", too, expected a key of its own for each image: rename or remove one");
    }
  }
}

int64_t KeyIndex::FindExact(const std::string& key) const {
  const uint64_t hash = HashOf(key);
  auto entry = std::lower_bound(entries_.begin(), entries_.end(),
                                std::pair<uint64_t, int64_t>(hash, INT64_MIN));
  for (; entry != entries_.end() && entry->first == hash; ++entry) {
    if (source_.Key(entry->second) == key) return entry->second;
  }
  return -1;
}

int64_t KeyIndex::Find(const std::string& key) const {
  const int64_t found = FindExact(key);
  if (found >= 0) return found;
  const std::string bare = WithoutImageEnding(key);
  return bare == key ? -1 : FindExact(bare);
}

}  // namespace gf
