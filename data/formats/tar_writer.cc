#include "data/formats/tar_writer.h"

#include <glog/logging.h>

#include <cstdio>
#include <cstring>

#include "data/formats/shard_writer.h"

namespace gf {
namespace {

constexpr size_t kBlock = 512;

// Spreads records over shards, an index file beside each.
class TarRecordWriter : public RecordWriter {
 public:
  explicit TarRecordWriter(const WriterOptions& options)
      : options_(options),
        shards_(options.shards > 0 ? options.shards : (options.count + 4999) / 5000) {
    if (shards_ > options.count) {
      ThrowUserError("shards: ", shards_, ", expected at most one per image (", options.count, ")");
    }
  }

  void Add(const Record& record, const std::string& key) override {
    const EncodedImage image = EncodeRecord(record, options_.quality);
    if (!shard_ || added_ >= options_.count * (number_ + 1) / shards_) {
      Close();
      shard_ = std::make_unique<ShardWriter>(options_.folder + "/" +
                                             ShardName(options_.name, ++number_));
    }
    if (options_.labels == LabelConfig::CLASS) {
      shard_->Add(names_.Make(key), image, record.label);
    } else {
      shard_->Add(names_.Make(key), image, record.labels);
    }
    ++added_;
  }

  void Finish() override {
    Close();
    WriteClassNames(options_.folder, options_.class_names);
  }

 private:
  void Close() {
    if (shard_) shard_->Close();
    shard_.reset();
  }

  const WriterOptions options_;
  const int64_t shards_;
  FileNames names_;
  std::unique_ptr<ShardWriter> shard_;
  int64_t number_ = -1, added_ = 0;
};

GF_REGISTER(WriterRegistry, "TAR", TarRecordWriter);

}  // namespace

int64_t TarWriter::Add(const std::string& name, const void* data, size_t size) {
  CHECK_LE(name.size(), 100u);
  CHECK_LT(size, size_t{1} << 33);
  char header[kBlock] = {};
  std::memcpy(header, name.data(), name.size());
  std::snprintf(header + 100, 8, "%07o", 0644u);
  std::snprintf(header + 108, 8, "%07o", 0u);
  std::snprintf(header + 116, 8, "%07o", 0u);
  std::snprintf(header + 124, 12, "%011llo", static_cast<unsigned long long>(size));
  std::snprintf(header + 136, 12, "%011o", 0u);
  header[156] = '0';
  std::memcpy(header + 257,
              "ustar\0"
              "00",
              8);
  std::memset(header + 148, ' ', 8);
  unsigned sum = 0;
  for (const char byte : header) sum += static_cast<unsigned char>(byte);
  std::snprintf(header + 148, 7, "%06o", sum);
  Write(header, kBlock);
  const int64_t offset = bytes_;
  Write(data, size);
  const char zeros[kBlock] = {};
  Write(zeros, (kBlock - size % kBlock) % kBlock);
  return offset;
}

void TarWriter::Write(const void* data, size_t size) {
  file_.Write(data, size);
  bytes_ += static_cast<int64_t>(size);
}

void TarWriter::Close() {
  const char zeros[2 * kBlock] = {};
  Write(zeros, sizeof(zeros));
  file_.Close();
}

}  // namespace gf
