// WebDataset shards: ustar files with <key>.jpg, .jpeg or .png and <key>.cls, a class index
// in ASCII.

#include <glog/logging.h>

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "core/error.h"
#include "data/file.h"
#include "data/record_source.h"
#include "data/tar_reader.h"

namespace gf {
namespace {

// Shards that stay open; the files of further ones are opened for each read, because a
// process may have few (often 1,024) files open.
constexpr size_t kOpenShards = 400;
constexpr size_t kMaxLabelBytes = 32;

struct Entry {
  int64_t offset;  // of the image's data
  uint64_t key;    // offset in the texts of all keys
  uint32_t bytes;
  uint32_t key_bytes;
  int32_t label;
  int32_t shard;
};

// WebDataset's rule: the key ends at the first dot of the last part of the path.
bool SplitName(const std::string& path, std::string* key, std::string* ending) {
  const size_t slash = path.rfind('/');
  const size_t base = slash == std::string::npos ? 0 : slash + 1;
  const size_t dot = path.find('.', base);
  if (dot == std::string::npos || dot == base) return false;
  *key = path.substr(0, dot);
  *ending = path.substr(dot + 1);
  for (char& c : *ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return true;
}

class TarSource : public RecordSource {
 public:
  static bool Recognises(const std::string& path) {
    if (IsFolder(path)) {
      try {
        return !ExpandFiles(path, ".tar").empty();
      } catch (const UserError&) {
        return false;
      }
    }
    const std::string file = ExpandFiles(path, "").front();
    for (const char* ending : {".tar", ".tar.gz", ".tgz"}) {
      if (HasEnding(file, ending)) return true;
    }
    char magic[5];
    return InputFile(file).ReadAt(257, magic, 5) == 5 && std::string(magic, 5) == "ustar";
  }

  explicit TarSource(const SourceOptions& options) : options_(options) {
    paths_ = ExpandFiles(options.path, ".tar");
    files_.resize(paths_.size());
    for (size_t i = 0; i < paths_.size(); ++i) {
      try {
        auto file = std::make_unique<InputFile>(paths_[i]);
        IndexShard(*file, static_cast<int32_t>(i));
        if (i < kOpenShards) files_[i] = std::move(file);
      } catch (const UserError& error) {
        if (!options.skip_damaged) throw;
        LeaveOut(error.what());
      }
      if (entries_.size() > size_t{INT32_MAX}) ThrowUserError(options.path, ": too many images");
    }
    const size_t slash = paths_[0].rfind('/');
    names_ = ReadClassNames(slash == std::string::npos ? "." : paths_[0].substr(0, slash));
    if (static_cast<int64_t>(names_.size()) < classes_) names_.clear();
    classes_ = std::max(classes_, static_cast<int64_t>(names_.size()));
    if (entries_.empty() && ignored_ > 0) {
      ThrowUserError(options.path, ": 0 images; the ", ignored_,
                     " files in the shards are not called <key>.jpg, .jpeg, .png or .cls with a "
                     "key without dots");
    }
  }

  int64_t size() const override { return static_cast<int64_t>(entries_.size()); }
  int64_t Label(int64_t i) const override { return entries_[i].label; }
  std::string Key(int64_t i) const override {
    return keys_.substr(entries_[i].key, entries_[i].key_bytes);
  }
  std::string Where(int64_t i) const override {
    return StrCat(paths_[entries_[i].shard], ":", Printable(Key(i)), ":", entries_[i].offset);
  }
  int64_t classes() const override { return classes_; }
  std::vector<std::string> ClassNames() const override { return names_; }
  int64_t skipped() const override { return skipped_; }

  std::string Describe() const override {
    return StrCat("TAR, ", paths_.size(), " shard", paths_.size() == 1 ? "" : "s", ", ", size(),
                  " images, ", classes_, " classes");
  }

  void Read(int64_t i, Record* record) const override {
    const Entry& entry = entries_[i];
    uint8_t* to = record->buffer.Reserve(entry.bytes);
    size_t got = 0;
    try {
      const InputFile* file = files_[entry.shard].get();
      got = file ? file->ReadAt(entry.offset, to, entry.bytes)
                 : InputFile(paths_[entry.shard]).ReadAt(entry.offset, to, entry.bytes);
    } catch (const UserError& error) {
      throw SampleError(error.what());
    }
    if (got != entry.bytes) {
      throw SampleError(
          StrCat("the shard has become shorter: read ", got, " of ", entry.bytes, " bytes"));
    }
    record->data = to;
    record->size = entry.bytes;
    record->raw = false;
    record->label = entry.label;
  }

 private:
  // An image or label whose other half has not come yet, or both.
  struct Pair {
    TarMember image, label;
    bool has_image = false, has_label = false;
    int32_t value = 0;
  };

  void LeaveOut(const std::string& why) {
    ++skipped_;
    LOG(WARNING) << "left out: " << why;
  }

  // Reports damage that concerns one sample only.
  void Damaged(const InputFile& file, int64_t offset, const std::string& what) {
    const std::string message = StrCat(file.path(), ":", offset, ": ", what);
    if (!options_.skip_damaged) throw UserError(message);
    LeaveOut(message);
  }

  void IndexShard(const InputFile& file, int32_t shard) {
    std::unordered_map<std::string, Pair> open;
    const size_t first = entries_.size();
    try {
      TarReader reader(&file);
      std::string key, ending;
      for (TarMember member; reader.Next(&member);) {
        if (!SplitName(member.name, &key, &ending)) continue;
        const bool label = ending == "cls";
        if (!label && ending != "jpg" && ending != "jpeg" && ending != "png") {
          ++ignored_;
          continue;
        }
        Pair& pair = open[key];
        if (label ? pair.has_label : pair.has_image) {
          Damaged(file, member.header_offset,
                  StrCat("a second ", label ? "label" : "image", " for the key \"", Printable(key),
                         "\""));
          continue;
        }
        if (label) {
          pair.value = ReadLabel(&reader, file, member);
          pair.label = member;
          pair.has_label = true;
        } else {
          pair.image = member;
          pair.has_image = true;
        }
        if (pair.has_image && pair.has_label) {
          AddEntry(file, shard, key, pair);
          open.erase(key);
        }
      }
    } catch (const UserError& error) {
      if (!options_.skip_damaged) throw;
      LeaveOut(StrCat(error.what(), "; what follows in this shard is not read"));
    }
    ReportHalves(file, open);
    std::sort(entries_.begin() + first, entries_.end(),
              [](const Entry& a, const Entry& b) { return a.offset < b.offset; });
  }

  // -1 for a label that is none, when damage is skipped.
  int32_t ReadLabel(TarReader* reader, const InputFile& file, const TarMember& member) {
    char text[kMaxLabelBytes + 1] = {};
    const size_t bytes = std::min<size_t>(member.size, kMaxLabelBytes);
    reader->Peek(member.data_offset, text, bytes);
    char* end = text;
    const long long value = std::strtoll(text, &end, 10);
    while (std::isspace(static_cast<unsigned char>(*end))) ++end;
    const bool whole = end != text && end == text + bytes;
    if (whole && member.size <= static_cast<int64_t>(kMaxLabelBytes) && value >= 0 &&
        value < INT32_MAX) {
      return static_cast<int32_t>(value);
    }
    Damaged(file, member.header_offset,
            StrCat("\"", Printable(member.name), "\" holds \"", Printable(text),
                   "\", expected a class index 0, 1, ..."));
    return -1;
  }

  void AddEntry(const InputFile& file, int32_t shard, const std::string& key, const Pair& pair) {
    if (pair.value < 0) return;
    if (pair.image.size > kMaxEncodedBytes) {
      Damaged(file, pair.image.header_offset,
              StrCat("\"", Printable(pair.image.name), "\" has ", pair.image.size,
                     " bytes, expected at most ", kMaxEncodedBytes));
      return;
    }
    entries_.push_back({pair.image.data_offset, keys_.size(),
                        static_cast<uint32_t>(pair.image.size), static_cast<uint32_t>(key.size()),
                        pair.value, shard});
    keys_ += key;
    classes_ = std::max<int64_t>(classes_, pair.value + 1);
  }

  void ReportHalves(const InputFile& file, const std::unordered_map<std::string, Pair>& open) {
    std::vector<const Pair*> halves;
    for (const auto& entry : open) halves.push_back(&entry.second);
    const auto offset = [](const Pair* pair) {
      return pair->has_image ? pair->image.header_offset : pair->label.header_offset;
    };
    std::sort(halves.begin(), halves.end(),
              [&](const Pair* a, const Pair* b) { return offset(a) < offset(b); });
    for (const Pair* pair : halves) {
      const TarMember& member = pair->has_image ? pair->image : pair->label;
      Damaged(file, offset(pair),
              StrCat("\"", Printable(member.name), "\" has no ",
                     pair->has_image ? ".cls with its label" : "image (.jpg, .jpeg or .png)",
                     " under the same key in this shard"));
    }
  }

  SourceOptions options_;
  std::vector<std::string> paths_;
  std::vector<std::unique_ptr<InputFile>> files_;  // null: opened for each read
  std::vector<Entry> entries_;
  std::string keys_;
  std::vector<std::string> names_;
  int64_t classes_ = 0, skipped_ = 0, ignored_ = 0;
};

GF_REGISTER_SOURCE("TAR", TarSource);

}  // namespace
}  // namespace gf
