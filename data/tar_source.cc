// WebDataset shards: ustar files with <key>.jpg, .jpeg or .png and <key>.cls, a class index
// in ASCII, and index files beside them.

#include <glog/logging.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "core/error.h"
#include "data/file.h"
#include "data/record_source.h"
#include "data/tar_index.h"
#include "data/tar_reader.h"

namespace gf {
namespace {

constexpr size_t kMaxLabelBytes = 32;

struct Entry {
  int64_t offset;  // of the image's data
  uint64_t key;    // offset in the texts of all keys
  uint32_t bytes;
  uint32_t key_bytes;
  int32_t label;
  int32_t shard;
};

// The shards that a source stands for; a glob may match the index files beside them, too.
std::vector<std::string> ShardFiles(const std::string& path) {
  std::vector<std::string> files = ExpandFiles(path, ".tar");
  if (files.size() > 1) {
    files.erase(std::remove_if(files.begin(), files.end(),
                               [](const std::string& file) { return HasEnding(file, ".idx"); }),
                files.end());
  }
  return files;
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
    const std::string file = ShardFiles(path).front();
    for (const char* ending : {".tar", ".tar.gz", ".tgz"}) {
      if (HasEnding(file, ending)) return true;
    }
    char magic[5];
    return InputFile(file).ReadAt(257, magic, 5) == 5 && std::string(magic, 5) == "ustar";
  }

  explicit TarSource(const SourceOptions& options) : options_(options) {
    paths_ = ShardFiles(options.path);
    files_.resize(paths_.size());
    // Shards that stay open; the files of further ones are opened for each read.
    const auto open_shards = static_cast<size_t>(OpenFileLimit() / 3);
    for (size_t i = 0; i < paths_.size(); ++i) {
      try {
        auto file = std::make_unique<InputFile>(paths_[i]);
        if (!UseIndex(*file, static_cast<int32_t>(i))) IndexShard(*file, static_cast<int32_t>(i));
        if (i < open_shards) files_[i] = std::move(file);
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

  void WillRead(int64_t i) const override {
    const Entry& entry = entries_[i];
    if (files_[entry.shard]) files_[entry.shard]->WillRead(entry.offset, entry.bytes);
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

  // Takes the samples of a shard from the index file beside it, if there is one that fits.
  bool UseIndex(const InputFile& file, int32_t shard) {
    std::string why;
    const std::optional<TarIndex> index = ReadTarIndex(file, &why);
    if (!why.empty()) LOG(WARNING) << "the index is not used: " << why;
    if (!index) return false;
    for (const TarSample& sample : index->samples) AddEntry(shard, sample);
    return true;
  }

  void IndexShard(const InputFile& file, int32_t shard) {
    std::unordered_map<std::string, Pair> open;
    const size_t first = entries_.size();
    try {
      TarReader reader(&file);
      for (TarMember member; reader.Next(&member);) {
        std::string_view text;
        TarRole role = TarRole::kOther;
        if (!SplitTarName(member.name, &text, &role)) continue;
        if (role == TarRole::kOther) {
          ++ignored_;
          continue;
        }
        const bool label = role == TarRole::kLabel;
        const std::string key(text);
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
          AddPair(file, shard, key, pair);
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
    const size_t got = reader->Peek(member.data_offset, text, bytes);
    const auto label = ParseLabel({text, got});
    if (label && member.size <= static_cast<int64_t>(kMaxLabelBytes)) {
      return static_cast<int32_t>(*label);
    }
    Damaged(file, member.header_offset,
            StrCat("\"", Printable(member.name), "\" holds \"", Printable(text),
                   "\", expected a class index 0, 1, ..."));
    return -1;
  }

  void AddPair(const InputFile& file, int32_t shard, const std::string& key, const Pair& pair) {
    if (pair.value < 0) return;
    if (pair.image.size > kMaxEncodedBytes) {
      Damaged(file, pair.image.header_offset,
              StrCat("\"", Printable(pair.image.name), "\" has ", pair.image.size,
                     " bytes, expected at most ", kMaxEncodedBytes));
      return;
    }
    AddEntry(shard, {key, pair.image.data_offset, pair.image.size, pair.value});
  }

  void AddEntry(int32_t shard, const TarSample& sample) {
    entries_.push_back({sample.offset, keys_.size(), static_cast<uint32_t>(sample.bytes),
                        static_cast<uint32_t>(sample.key.size()),
                        static_cast<int32_t>(sample.label), shard});
    keys_ += sample.key;
    classes_ = std::max(classes_, sample.label + 1);
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
