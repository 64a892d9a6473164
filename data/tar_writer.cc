#include "data/tar_writer.h"

#include <glog/logging.h>

#include <cstdio>
#include <cstring>

#include "data/record_writer.h"

namespace gf {
namespace {

constexpr size_t kBlock = 512;

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
    if (!tar_ || added_ >= options_.count * (shard_ + 1) / shards_) Open();
    const std::string name = names_.Make(key), label = std::to_string(record.label);
    tar_->Add(name + image.ending, image.data, image.size);
    tar_->Add(name + ".cls", label.data(), label.size());
    ++added_;
  }

  void Finish() override {
    if (tar_) tar_->Close();
    tar_.reset();
    WriteClassNames(options_.folder, options_.class_names);
  }

 private:
  void Open() {
    if (tar_) tar_->Close();
    ++shard_;
    char number[32];
    std::snprintf(number, sizeof(number), "-%06lld.tar", static_cast<long long>(shard_));
    tar_ = std::make_unique<TarWriter>(options_.folder + "/" + options_.name + number);
  }

  const WriterOptions options_;
  const int64_t shards_;
  FileNames names_;
  std::unique_ptr<TarWriter> tar_;
  int64_t shard_ = -1, added_ = 0;
};

GF_REGISTER_WRITER("TAR", TarRecordWriter);

}  // namespace

void TarWriter::Add(const std::string& name, const void* data, size_t size) {
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
  file_.Write(header, kBlock);
  file_.Write(data, size);
  const char zeros[kBlock] = {};
  file_.Write(zeros, (kBlock - size % kBlock) % kBlock);
}

void TarWriter::Close() {
  const char zeros[2 * kBlock] = {};
  file_.Write(zeros, sizeof(zeros));
  file_.Close();
}

}  // namespace gf
