#include "core/error.h"
#include "core/output_file.h"
#include "data/formats/record_writer.h"
#include "data/image/convert_pixels.h"

namespace gf {
namespace {

// images-idx3-ubyte and labels-idx1-ubyte. The number of records stands before them, so it
// must be known, and all images have one size.
class IdxRecordWriter : public RecordWriter {
 public:
  explicit IdxRecordWriter(const WriterOptions& options)
      : options_(options),
        images_(options.folder + "/images-idx3-ubyte"),
        labels_(options.folder + "/labels-idx1-ubyte") {
    if (options.classes > 256) {
      ThrowUserError("idx holds labels 0 to 255, and there are ", options.classes, " classes");
    }
    if (options.count > UINT32_MAX) ThrowUserError("idx holds at most 4,294,967,295 images");
    WriteNumber(&labels_, 0x00000801);
    WriteNumber(&labels_, options.count);
  }

  void Add(const Record& record, const std::string& key) override {
    constexpr PixelFormat kGray = {PixelType::kUINT8, 1};
    const ImageInfo info = RecordInfo(record);
    if (info.type != PixelType::kUINT8) {
      ThrowUserError("an image of ", info.pixel_format().ToString(),
                     ", and idx holds UINT8: choose another format");
    }
    if (info.channels != 1 && !options_.grayscale) {
      ThrowUserError("a color image, and idx holds grayscale; --grayscale converts them");
    }
    if (added_ == 0) {
      size_ = info.size;
      WriteNumber(&images_, 0x00000803);
      WriteNumber(&images_, options_.count);
      WriteNumber(&images_, size_.height);
      WriteNumber(&images_, size_.width);
    } else if (info.size != size_) {
      ThrowUserError("an image of ", info.size.ToString(), ", but the first one has ",
                     size_.ToString(), ", and idx holds images of one size");
    }
    uint8_t* pixels = pixels_.Reserve(size_.pixels());
    if (record.raw) {
      DecodeRequest gray;
      gray.format = kGray;
      ConvertPixels(record.data, record.raw_format, size_.pixels(), gray, pixels);
    } else {
      DecodeImage(record.data, record.size, kGray, [&](ImageSize) { return pixels; });
    }
    images_.Write(pixels, size_.pixels());
    const auto label = static_cast<uint8_t>(record.label);
    labels_.Write(&label, 1);
    ++added_;
  }

  void Finish() override {
    if (added_ != options_.count) {
      ThrowUserError("idx states the number of images first: ", options_.count,
                     " were announced and ", added_,
                     " are good; convert to tar or folder first, which may leave some out");
    }
    images_.Close();
    labels_.Close();
    WriteClassNames(options_.folder, options_.class_names);
  }

 private:
  static void WriteNumber(OutputFile* file, int64_t value) {
    const uint8_t bytes[4] = {static_cast<uint8_t>(value >> 24), static_cast<uint8_t>(value >> 16),
                              static_cast<uint8_t>(value >> 8), static_cast<uint8_t>(value)};
    file->Write(bytes, 4);
  }

  const WriterOptions options_;
  OutputFile images_, labels_;
  ImageSize size_;
  ByteBuffer pixels_;
  int64_t added_ = 0;
};

GF_REGISTER(WriterRegistry, "IDX", IdxRecordWriter);

}  // namespace
}  // namespace gf
