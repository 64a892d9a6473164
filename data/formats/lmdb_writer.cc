// Databases for Caffe: a folder with data.mdb, where a Datum, encoded or raw, has the key
// "00000042_name".

#include <lmdb.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "core/error.h"
#include "core/file.h"
#include "data/formats/datum.h"
#include "data/formats/record_writer.h"

namespace gf {
namespace {

constexpr size_t kMostNameBytes = 400;  // LMDB's keys have at most 511
// A transaction holds its pages in memory.
constexpr size_t kMostBytesOfTransaction = size_t{32} << 20;
// What a put takes besides the value at most: pages of the tree that are copied or split.
constexpr size_t kPagesPerPut = 16;

struct EnvironmentCloser {
  void operator()(MDB_env* environment) const { mdb_env_close(environment); }
};

class LmdbRecordWriter : public RecordWriter {
 public:
  explicit LmdbRecordWriter(const WriterOptions& options)
      : options_(options), path_(options.folder + "/data.mdb") {
    // Keys are in the order of the records, whatever their number.
    digits_ = std::max<int>(8, static_cast<int>(std::to_string(options.count).size()));
    MDB_env* environment = nullptr;
    Check(mdb_env_create(&environment));
    environment_.reset(environment);
    // Nobody else knows the file; Finish syncs it.
    Check(mdb_env_open(environment, path_.c_str(), MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC, 0666));
    MDB_stat stat;
    Check(mdb_env_stat(environment, &stat));
    page_bytes_ = stat.ms_psize;
  }

  ~LmdbRecordWriter() override {
    if (transaction_) mdb_txn_abort(transaction_);
  }

  void Add(const Record& record, const std::string& key) override {
    std::string value = Serialize(record);
    if (static_cast<int64_t>(value.size()) > kMaxEncodedBytes) {
      throw SampleError(StrCat("a Datum of ", value.size(), " bytes, expected at most ",
                               kMaxEncodedBytes, "; --quality or --resize makes it smaller"));
    }
    char number[32];
    std::snprintf(number, sizeof(number), "%0*lld_", digits_, static_cast<long long>(added_++));
    std::string name = number + key.substr(0, kMostNameBytes);
    Prepare(value.size());
    MDB_val to_key = {name.size(), &name[0]}, to_value = {value.size(), &value[0]};
    Check(mdb_put(transaction_, database_, &to_key, &to_value, MDB_APPEND));
  }

  void Finish() override {
    Prepare(0);  // a database, even without records
    Commit();
    Check(mdb_env_sync(environment_.get(), 1));
    environment_.reset();
    WriteClassNames(options_.folder, options_.class_names);
  }

 private:
  void Check(int status) const {
    if (status > 0) ThrowFileError("write", path_, status);
    if (status < 0) ThrowUserError(path_, ": ", mdb_strerror(status));
  }

  std::string Serialize(const Record& record) const {
    Datum datum;
    datum.label = record.label;
    if (record.raw && options_.quality == 0) {
      const std::string planes = RawDatumPlanes(record.data, record.raw_size, record.raw_format);
      datum.channels = record.raw_format.channels;
      if (record.raw_format.type != PixelType::kUINT8) datum.type = PixelType::kFP32;
      datum.height = record.raw_size.height;
      datum.width = record.raw_size.width;
      datum.data = reinterpret_cast<const uint8_t*>(planes.data());
      datum.size = planes.size();
      return SerializeDatum(datum);
    }
    const EncodedImage image = EncodeRecord(record, options_.quality);
    datum.encoded = true;
    datum.data = image.data;
    datum.size = image.size;
    return SerializeDatum(datum);
  }

  // Makes sure that a transaction is open and that its map has room for one more value.
  void Prepare(size_t bytes) {
    const size_t most = bytes + (1 + kPagesPerPut) * page_bytes_;
    if (transaction_ && (pending_ + most > room_ || pending_ > kMostBytesOfTransaction)) Commit();
    if (!transaction_) {
      Grow(most);
      Check(mdb_txn_begin(environment_.get(), nullptr, 0, &transaction_));
      Check(mdb_dbi_open(transaction_, nullptr, 0, &database_));
    }
    pending_ += most;
  }

  void Commit() {
    MDB_txn* const transaction = std::exchange(transaction_, nullptr);
    pending_ = 0;
    Check(mdb_txn_commit(transaction));  // ends it in every case
  }

  // The map bounds the file. It is set between transactions: twice what is there, and room for one
  // transaction more.
  void Grow(size_t bytes) {
    MDB_envinfo info;
    Check(mdb_env_info(environment_.get(), &info));
    const size_t there = (info.me_last_pgno + 1) * page_bytes_;
    room_ = bytes + std::max(there, size_t{1} << 20);
    // Lists of free pages come in addition.
    const size_t spare = size_t{1} << 20;
    if (there + room_ + spare > info.me_mapsize) {
      Check(mdb_env_set_mapsize(environment_.get(), there + room_ + spare));
    } else {
      room_ = info.me_mapsize - there - spare;
    }
  }

  const WriterOptions options_;
  const std::string path_;
  int digits_ = 8;
  size_t page_bytes_ = 0;
  std::unique_ptr<MDB_env, EnvironmentCloser> environment_;
  MDB_txn* transaction_ = nullptr;  // ends before the environment
  MDB_dbi database_ = 0;
  // Bytes that the transaction may have taken, and those that the map has for it.
  size_t pending_ = 0, room_ = 0;
  int64_t added_ = 0;
};

GF_REGISTER(WriterRegistry, "LMDB", LmdbRecordWriter);

}  // namespace
}  // namespace gf
