// Caffe's databases: LMDB with a Datum per key, encoded or raw.

#include <lmdb.h>

#include <algorithm>
#include <memory>

#include "core/error.h"
#include "core/file.h"
#include "core/folder.h"
#include "core/readable.h"
#include "data/formats/datum.h"
#include "data/formats/record_source.h"

namespace gf {
namespace {

// The file of a database: of a folder its data.mdb.
std::string DatabaseFile(const std::string& path) {
  return IsFolder(path) ? path + "/data.mdb" : path;
}

struct EnvironmentCloser {
  void operator()(MDB_env* environment) const { mdb_env_close(environment); }
};
struct TransactionEnder {
  void operator()(MDB_txn* transaction) const { mdb_txn_abort(transaction); }
};
struct CursorCloser {
  void operator()(MDB_cursor* cursor) const { mdb_cursor_close(cursor); }
};

class LmdbSource : public RecordSource {
 public:
  static bool Recognizes(const std::string& path) {
    if (IsFolder(path)) return IsFile(path + "/data.mdb");
    return IsFile(path) && HasEnding(path, ".mdb");
  }

  explicit LmdbSource(const SourceOptions& options) : path_(DatabaseFile(options.path)) {
    Open();
    MDB_cursor* raw_cursor = nullptr;
    Check(mdb_cursor_open(transaction_.get(), database_, &raw_cursor));
    const std::unique_ptr<MDB_cursor, CursorCloser> cursor(raw_cursor);
    MDB_val key, value;
    int status;
    while ((status = mdb_cursor_get(cursor.get(), &key, &value, MDB_NEXT)) == 0) {
      AddRecord(options, {static_cast<const char*>(key.mv_data), key.mv_size},
                static_cast<const uint8_t*>(value.mv_data), value.mv_size);
    }
    if (status != MDB_NOTFOUND) Check(status);
    const size_t slash = path_.rfind('/');
    names_ = ReadClassNames(slash == std::string::npos ? "." : path_.substr(0, slash));
    if (static_cast<int64_t>(names_.size()) < classes_) names_.clear();
    classes_ = std::max(classes_, static_cast<int64_t>(names_.size()));
  }

  int64_t size() const override { return static_cast<int64_t>(entries_.size()); }
  int64_t Label(int64_t i) const override { return entries_[i].label; }
  std::string Key(int64_t i) const override {
    return keys_.substr(entries_[i].key, entries_[i].key_bytes);
  }
  std::string Where(int64_t i) const override {
    return StrCat(path_, ":", Printable(Key(i)), ":", i);
  }
  int64_t classes() const override { return classes_; }
  std::vector<std::string> ClassNames() const override { return names_; }
  int64_t skipped() const override { return skipped_; }
  std::string Describe() const override {
    return StrCat("LMDB, ", Counted(size(), "image"), ", ", Counted(classes_, "class", "classes"));
  }

  void Read(int64_t i, Record* record) const override {
    const Entry& entry = entries_[i];
    const Datum datum = ParseDatum(entry.data, entry.bytes);
    record->label = entry.label;
    record->data = datum.data;
    record->size = datum.size;
    record->raw = !datum.encoded;
    if (datum.encoded) return;
    record->raw_size = CheckRawDatum(datum);
    record->raw_channels = static_cast<int>(datum.channels);
    uint8_t* pixels = record->buffer.Reserve(datum.size);
    ReadRawDatum(datum, pixels);
    record->data = pixels;
  }

 private:
  struct Entry {
    const uint8_t* data;  // in the mapped file
    uint64_t key;         // offset in the texts of all keys
    uint32_t bytes;
    uint32_t key_bytes;
    int64_t label;
  };

  void Check(int status) const {
    if (status != 0) ThrowUserError(path_, ": ", mdb_strerror(status));
  }

  void Open() {
    const InputFile file(path_);
    MDB_env* environment = nullptr;
    Check(mdb_env_create(&environment));
    environment_.reset(environment);
    // Without locks: nobody writes, and the folder may be read-only.
    Check(mdb_env_open(environment, path_.c_str(),
                       MDB_RDONLY | MDB_NOLOCK | MDB_NOSUBDIR | MDB_NORDAHEAD, 0));
    MDB_envinfo info;
    MDB_stat stat;
    Check(mdb_env_info(environment, &info));
    Check(mdb_env_stat(environment, &stat));
    if (stat.ms_psize == 0) ThrowUserError(path_, ":0: pages of 0 bytes; the file is damaged");
    // Reading a page beyond the end of the file would kill the process.
    const auto pages = static_cast<uint64_t>(file.size()) / stat.ms_psize;
    if (info.me_last_pgno >= pages) {
      ThrowUserError(path_, ":", file.size(), ": the file ends here but has pages up to ",
                     info.me_last_pgno, " of ", stat.ms_psize,
                     " bytes; perhaps it was not copied completely");
    }
    MDB_txn* transaction = nullptr;
    Check(mdb_txn_begin(environment, nullptr, MDB_RDONLY, &transaction));
    transaction_.reset(transaction);
    Check(mdb_dbi_open(transaction, nullptr, 0, &database_));
  }

  void AddRecord(const SourceOptions& options, const std::string& key, const uint8_t* data,
                 size_t bytes) {
    try {
      if (static_cast<int64_t>(bytes) > kMaxEncodedBytes) {
        throw SampleError(StrCat(bytes, " bytes, expected at most ", kMaxEncodedBytes));
      }
      const int64_t label = ParseDatum(data, bytes).label;
      if (label < 0 || label >= INT32_MAX) {
        throw SampleError(StrCat("label ", label, ", expected a class index 0, 1, ..."));
      }
      entries_.push_back({data, keys_.size(), static_cast<uint32_t>(bytes),
                          static_cast<uint32_t>(key.size()), label});
      keys_ += key;
      classes_ = std::max(classes_, label + 1);
    } catch (const SampleError& error) {
      const std::string message =
          StrCat(path_, ":", Printable(key), ":", entries_.size(), ": ", error.what());
      if (!options.skip_damaged) ThrowUserError(message);
      PrintWarning("left out: ", message);
      ++skipped_;
    }
  }

  const std::string path_;
  std::unique_ptr<MDB_env, EnvironmentCloser> environment_;
  std::unique_ptr<MDB_txn, TransactionEnder> transaction_;  // keeps the pages where they are
  MDB_dbi database_ = 0;
  std::vector<Entry> entries_;
  std::string keys_;
  std::vector<std::string> names_;
  int64_t classes_ = 0, skipped_ = 0;
};

GF_REGISTER(SourceFormatRegistry, "LMDB", SourceFormatOf<LmdbSource>);

}  // namespace
}  // namespace gf
