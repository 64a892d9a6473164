#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/registry.h"
#include "data/formats/record_source.h"

namespace gf {

struct WriterOptions {
  // An existing folder.
  std::string folder;
  // Shards are called "<name>-000000.tar".
  std::string name = "data";
  // How many records will be added.
  int64_t count = 0;
  int64_t classes = 0;
  std::vector<std::string> class_names;
  // Not CLASS: Record::labels holds the labels; TAR only.
  LabelConfig::Type labels = LabelConfig::CLASS;
  // Shards that the records are spread over evenly; 0 = one per 5,000 records.
  int shards = 0;
  // Raw images become JPEGs of this quality, or PNGs if they have 16 bits; 0 = PNGs, or raw where
  // the format holds them.
  int quality = 0;
  // Color images become grayscale where the format holds nothing else.
  bool grayscale = false;
};

// Writes a data set in one format. Encoded images are written byte for byte where the format
// allows. Throws UserError, SampleError for a record that the format cannot hold.
class RecordWriter {
 public:
  virtual ~RecordWriter() = default;
  virtual void Add(const Record& record, const std::string& key) = 0;
  // Completes all files.
  virtual void Finish() = 0;
};

// The registry of formats, by the names of DataConfig.Format.
using WriterRegistry = Registry<RecordWriter, const WriterOptions&>;

// An image file of the record: the one it holds, or its pixels encoded.
struct EncodedImage {
  const uint8_t* data;
  size_t size;
  const char* ending;  // ".jpg", ".png", ".tif"
  std::vector<uint8_t> owned;
};
EncodedImage EncodeRecord(const Record& record, int quality);

// Pixels as a JPEG of `quality` if they have 8 bits and it is not 0, else as a PNG. Throws
// UserError if neither holds them.
EncodedImage EncodePixels(const uint8_t* pixels, ImageSize size, PixelFormat format, int quality);

// Turns source keys into names for files: one part, no dots, at most 90 bytes, each once.
class FileNames {
 public:
  std::string Make(const std::string& key);

 private:
  std::map<std::string, int64_t> used_;
};

// Writes "classes.txt", one name per line, if there are names.
void WriteClassNames(const std::string& folder, const std::vector<std::string>& names);

}  // namespace gf
