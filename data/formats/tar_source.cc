// WebDataset shards: ustar files with <key>.jpg (or another image) and <key>.cls, a class index in
// ASCII, and index files beside them.

#include <algorithm>
#include <functional>
#include <optional>

#include "core/error.h"
#include "core/file.h"
#include "core/folder.h"
#include "core/readable.h"
#include "data/formats/image_labels.h"
#include "data/formats/record_source.h"
#include "data/formats/tar_index.h"
#include "data/formats/tar_walk.h"
#include "data/image/image_names.h"

namespace gf {
namespace {

struct Entry {
  int64_t offset;  // of the image's data
  uint64_t key;    // offset in the texts of all keys
  uint32_t bytes;
  uint32_t key_bytes;
  int32_t label;  // or, with several labels, the row in a table of labels
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
  static bool Recognizes(const std::string& path) {
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

  explicit TarSource(const SourceOptions& options)
      : options_(options), parser_(options.labels, {}) {
    labels_.in_shard = options.labels.file().empty();
    several_ = labels_.in_shard && options.labels.type() != LabelConfig::CLASS;
    if (several_) labels_.parser = &parser_;
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
    if (several_) classes_ = parser_.classes();
    if (!labels_.in_shard) classes_ = 0;
    names_ = ReadClassNames(paths_[0], &classes_);
    if (entries_.empty() && ignored_ > 0) {
      ThrowUserError(
          options.path, ": 0 images; the ", ignored_,
          " files in the shards are not called <key>.cls, or <key> with the ending of an image (",
          DescribeImageEndings(), "), with a key without dots");
    }
  }

  int64_t size() const override { return static_cast<int64_t>(entries_.size()); }
  LabelConfig::Type label_type() const override {
    return several_ ? options_.labels.type() : LabelConfig::CLASS;
  }
  int64_t Label(int64_t i) const override { return several_ ? 0 : entries_[i].label; }
  void Labels(int64_t i, std::vector<float>* labels) const override {
    if (several_) return table_.Get(entries_[i].label, labels);
    *labels = {static_cast<float>(entries_[i].label)};
  }
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
    const bool values = label_type() == LabelConfig::VALUES;
    return StrCat("TAR, ", Counted(paths_.size(), "shard"), ", ", Counted(size(), "image"), ", ",
                  values ? Counted(classes_, "value") : Counted(classes_, "class", "classes"));
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
    record->label = Label(i);
  }

 private:
  void LeaveOut(const std::string& why) {
    ++skipped_;
    PrintWarning("left out: ", why);
  }

  // Takes the samples of a shard from the index file beside it, if there is one that fits.
  bool UseIndex(const InputFile& file, int32_t shard) {
    std::string why;
    const std::optional<TarIndex> index = ReadTarIndex(file, &why, labels_);
    if (!why.empty()) PrintWarning("the index is not used: ", why);
    if (!index) return false;
    for (const TarSample& sample : index->samples) AddEntry(shard, sample);
    return true;
  }

  void IndexShard(const InputFile& file, int32_t shard) {
    const size_t first = entries_.size();
    std::function<void(const std::string&)> left_out;
    if (options_.skip_damaged) left_out = [this](const std::string& what) { LeaveOut(what); };
    ignored_ += WalkTarSamples(
        file,
        [&](const TarPair& pair) {
          AddEntry(shard,
                   {pair.key, pair.image.data_offset, pair.image.size, pair.value, pair.labels});
        },
        left_out, labels_);
    std::sort(entries_.begin() + first, entries_.end(),
              [](const Entry& a, const Entry& b) { return a.offset < b.offset; });
  }

  void AddEntry(int32_t shard, const TarSample& sample) {
    const int64_t label = several_ ? table_.images() : sample.label;
    if (several_) table_.Add(sample.labels);
    entries_.push_back({sample.offset, keys_.size(), static_cast<uint32_t>(sample.bytes),
                        static_cast<uint32_t>(sample.key.size()), static_cast<int32_t>(label),
                        shard});
    keys_ += sample.key;
    classes_ = std::max(classes_, sample.label + 1);
  }

  SourceOptions options_;
  LabelParser parser_;
  TarLabels labels_;
  bool several_ = false;  // labels per image: of the type in options_
  LabelTable table_;
  std::vector<std::string> paths_;
  std::vector<std::unique_ptr<InputFile>> files_;  // null: opened for each read
  std::vector<Entry> entries_;
  std::string keys_;
  std::vector<std::string> names_;
  int64_t classes_ = 0, skipped_ = 0, ignored_ = 0;
};

GF_REGISTER(SourceFormatRegistry, "TAR", SourceFormatOf<TarSource>);

}  // namespace
}  // namespace gf
