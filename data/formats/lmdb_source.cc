// Caffe's databases: LMDB with a Datum per key, encoded or raw.

#include <algorithm>

#include "core/error.h"
#include "core/file.h"
#include "core/folder.h"
#include "core/readable.h"
#include "data/formats/datum.h"
#include "data/formats/lmdb_file.h"
#include "data/formats/record_source.h"

namespace gf {
namespace {

// The file of a database: of a folder its data.mdb.
std::string DatabaseFile(const std::string& path) {
  return IsFolder(path) ? path + "/data.mdb" : path;
}

class LmdbSource : public RecordSource {
 public:
  static bool Recognizes(const std::string& path) {
    if (IsFolder(path)) return IsFile(path + "/data.mdb");
    return IsFile(path) && HasEnding(path, ".mdb");
  }

  explicit LmdbSource(const SourceOptions& options) : file_(DatabaseFile(options.path)) {
    const std::string& path = file_.path();
    LmdbFile(&file_).ForEach([&](const LmdbRecord& record) { AddRecord(options, record); });
    names_ = ReadClassNames(path, &classes_);
  }

  int64_t size() const override { return static_cast<int64_t>(entries_.size()); }
  int64_t Label(int64_t i) const override { return entries_[i].label; }
  std::string Key(int64_t i) const override {
    return keys_.substr(entries_[i].key, entries_[i].key_bytes);
  }
  std::string Where(int64_t i) const override {
    return StrCat(file_.path(), ":", Printable(Key(i)), ":", i);
  }
  int64_t classes() const override { return classes_; }
  std::vector<std::string> ClassNames() const override { return names_; }
  int64_t skipped() const override { return skipped_; }
  std::string Describe() const override {
    return StrCat("LMDB, ", Counted(size(), "image"), ", ", Counted(classes_, "class", "classes"));
  }

  void WillRead(int64_t i) const override { file_.WillRead(entries_[i].offset, entries_[i].bytes); }

  void Read(int64_t i, Record* record) const override {
    const Entry& entry = entries_[i];
    // Raw pixels, which take no more bytes than the value, are put into another order behind it.
    const size_t behind = (size_t{entry.bytes} + 15) / 16 * 16;
    uint8_t* const value = record->buffer.Reserve(entry.raw ? behind + entry.bytes : entry.bytes);
    const Datum datum = ReadValue(entry, value);
    record->label = entry.label;
    record->data = datum.data;
    record->size = datum.size;
    record->raw = entry.raw;
    if (!entry.raw) return;
    record->raw_size = CheckRawDatum(datum);
    record->raw_format = RawFormat(datum);
    ReadRawDatum(datum, value + behind);
    record->data = value + behind;
    record->size = record->raw_size.pixels() * record->raw_format.bytes();
  }

 private:
  struct Entry {
    int64_t offset;  // of the value in the file
    uint64_t key;    // offset in the texts of all keys
    uint32_t bytes;
    uint32_t key_bytes;
    int32_t label;
    bool raw;
  };

  Datum ReadValue(const Entry& entry, uint8_t* to) const {
    size_t got = 0;
    try {
      got = file_.ReadAt(entry.offset, to, entry.bytes);
    } catch (const UserError& error) {
      throw SampleError(error.what());
    }
    if (got != entry.bytes) {
      throw SampleError(
          StrCat("the database has become shorter: read ", got, " of ", entry.bytes, " bytes"));
    }
    const Datum datum = ParseDatum(to, entry.bytes);
    if (datum.label != entry.label || datum.encoded == entry.raw) {
      throw SampleError("the database has been changed since it was opened");
    }
    return datum;
  }

  void AddRecord(const SourceOptions& options, const LmdbRecord& record) {
    const std::string key(record.key);
    try {
      if (record.bytes > kMaxEncodedBytes) {
        throw SampleError(StrCat(record.bytes, " bytes, expected at most ", kMaxEncodedBytes));
      }
      const Datum datum = record.value ? ParseDatum(record.value, record.bytes)
                                       : ReadDatumFields(file_, record.offset, record.bytes);
      if (datum.label < 0 || datum.label >= kMaxClasses) {
        throw SampleError(
            StrCat("label ", datum.label, ", expected a class index 0 to ", kMaxClasses - 1));
      }
      entries_.push_back({record.offset, keys_.size(), record.bytes,
                          static_cast<uint32_t>(key.size()), static_cast<int32_t>(datum.label),
                          !datum.encoded});
      keys_ += key;
      classes_ = std::max(classes_, datum.label + 1);
    } catch (const SampleError& error) {
      const std::string message =
          StrCat(file_.path(), ":", Printable(key), ":", entries_.size(), ": ", error.what());
      if (!options.skip_damaged) ThrowUserError(message);
      PrintWarning("left out: ", message);
      ++skipped_;
    }
  }

  const InputFile file_;
  std::vector<Entry> entries_;
  std::string keys_;
  std::vector<std::string> names_;
  int64_t classes_ = 0, skipped_ = 0;
};

GF_REGISTER(SourceFormatRegistry, "LMDB", SourceFormatOf<LmdbSource>);

}  // namespace
}  // namespace gf
