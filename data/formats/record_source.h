#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/config/job.pb.h"
#include "core/registry.h"
#include "data/image/byte_buffer.h"
#include "data/image/image.h"

namespace gf {

// Labels are below this: more classes than any net has, and few enough for a table of them.
constexpr int64_t kMaxClasses = int64_t{1} << 20;

// One sample as it is stored.
struct Record {
  // An encoded image, or (raw) pixels of raw_size and raw_format, aligned to the size of their
  // type. Valid as long as the record is not read into again and the source lives.
  const uint8_t* data = nullptr;
  size_t size = 0;
  bool raw = false;
  ImageSize raw_size;
  PixelFormat raw_format;
  int64_t label = 0;
  // For writers, where images have several labels: RecordSource::Labels. Read leaves them alone.
  std::vector<float> labels;
  // Memory for sources that must read.
  ByteBuffer buffer;
};

// Size and format of a record's image; reads the header of an encoded one. Throws SampleError.
ImageInfo RecordInfo(const Record& record);

struct SourceOptions {
  // A folder, a file or a glob.
  std::string path;
  // Damaged shards and images without label (or the reverse) are left out, counted and
  // named by a warning; otherwise they are errors.
  bool skip_damaged = false;
  // The kind of labels. labels.file, if set, replaces the format's own labels (AttachLabels); an
  // image without a line is an error, or left out as a damaged one is.
  LabelConfig labels = LabelConfig();
  // LIST: the folder where its paths start; empty: the list's folder.
  std::string root_folder = {};
  // Names of the net's classes by number, for names in labels.file if the data have no classes.txt.
  std::vector<std::string> net_classes = {};
};

// Source, labels and root folder of a phase; damaged samples are left out unless on_error is FAIL.
SourceOptions SourceOptionsOf(const DataConfig& config);

// A data set that can be read at random. Its order is the same for every process that
// opens the same files. All functions are safe to call from several threads.
class RecordSource {
 public:
  virtual ~RecordSource() = default;

  // Number of samples, at least 1.
  virtual int64_t size() const = 0;
  // Reads sample i. Throws SampleError (without the place) if it cannot be read.
  virtual void Read(int64_t i, Record* record) const = 0;
  // A hint that sample i will be read soon; returns at once.
  virtual void WillRead(int64_t i) const {}
  // The kind of a sample's labels: SourceOptions::labels.
  virtual LabelConfig::Type label_type() const { return LabelConfig::CLASS; }
  // CLASS: the class, from the index, without reading the sample. Other types: 0.
  virtual int64_t Label(int64_t i) const = 0;
  // The same for any type. CLASS: one class. CLASSES: the sample's classes in ascending order, each
  // once, maybe none. VALUES: classes() numbers.
  virtual void Labels(int64_t i, std::vector<float>* labels) const {
    *labels = {static_cast<float>(Label(i))};
  }
  // A name for sample i that is unique in the source, without ending.
  virtual std::string Key(int64_t i) const = 0;
  // Where sample i lies, for messages: "shard.tar:key:offset".
  virtual std::string Where(int64_t i) const = 0;

  // Classes are below this. VALUES: numbers per sample.
  virtual int64_t classes() const = 0;
  // classes() names, of classes or values, or none.
  virtual std::vector<std::string> ClassNames() const = 0;
  // Samples left out because of damage when the source was opened.
  virtual int64_t skipped() const { return 0; }
  // One line: "TAR, 4 shards, 1,000 images, 10 classes".
  virtual std::string Describe() const = 0;
};

// A format of data sets: recognizes them and opens them.
class SourceFormat {
 public:
  virtual ~SourceFormat() = default;
  // Whether `path` (folder, file or glob) looks like this format.
  virtual bool Recognizes(const std::string& path) const = 0;
  virtual std::unique_ptr<RecordSource> Open(const SourceOptions& options) const = 0;
};

// Formats by the names of DataConfig.Format.
using SourceFormatRegistry = Registry<SourceFormat>;

// The format of a class with a constructor (const SourceOptions&) and a static
// bool Recognizes(const std::string& path), for the registry:
//   GF_REGISTER(SourceFormatRegistry, "TAR", SourceFormatOf<TarSource>);
template <typename Source>
class SourceFormatOf : public SourceFormat {
 public:
  bool Recognizes(const std::string& path) const override { return Source::Recognizes(path); }
  std::unique_ptr<RecordSource> Open(const SourceOptions& options) const override {
    return std::make_unique<Source>(options);
  }
};

// Opens a source. format "AUTO" is told from what lies there. Throws UserError: nothing
// there, format not recognized, damaged, no images.
std::unique_ptr<RecordSource> OpenSource(const std::string& format, const SourceOptions& options);

// The format that "AUTO" stands for.
std::string DetectFormat(const std::string& path);

// The format that OpenSource opens: with labels.file, a folder of any images is a FOLDER, too; with
// root_folder, a file is a LIST.
std::string FormatOf(const std::string& format, const SourceOptions& options);

// Reads a file that holds one encoded image. Throws SampleError.
void ReadImageFile(const std::string& path, Record* record);

// The class names of a data set: one per line of "classes.txt" beside its `file`; none if there is
// no such file. More names than `classes`, which were counted from the labels, raise `classes`.
// Throws UserError if there are fewer.
std::vector<std::string> ReadClassNames(const std::string& file, int64_t* classes);

}  // namespace gf
