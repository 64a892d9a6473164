#include "data/formats/record_writer.h"

#include <cctype>

#include "core/error.h"
#include "core/output_file.h"
#include "data/image/image_names.h"

namespace gf {

EncodedImage EncodeRecord(const Record& record, int quality) {
  EncodedImage image = {record.data, record.size, nullptr, {}};
  if (!record.raw) {
    image.ending = EndingOf(ProbeImage(record.data, record.size).format);
    return image;
  }
  return EncodePixels(record.data, record.raw_size, record.raw_format, quality);
}

EncodedImage EncodePixels(const uint8_t* pixels, ImageSize size, PixelFormat format, int quality) {
  const bool jpeg = quality > 0 && format.type == PixelType::kUINT8 && FitsPng(format);
  EncodedImage image = {nullptr, 0, jpeg ? ".jpg" : ".png", {}};
  image.owned =
      jpeg ? EncodeJpeg(pixels, size, format.channels, quality) : EncodePng(pixels, size, format);
  image.data = image.owned.data();
  image.size = image.owned.size();
  return image;
}

std::string FileNames::Make(const std::string& key) {
  constexpr size_t kMaxBytes = 80;
  std::string name = key.substr(key.size() > kMaxBytes ? key.size() - kMaxBytes : 0);
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && !std::isalnum(byte) && c != '-') c = '_';
  }
  const int64_t uses = used_[name]++;
  if (uses == 0) return name;
  // The new name may itself be a key.
  return Make(StrCat(name, "_", uses + 1));
}

void WriteClassNames(const std::string& folder, const std::vector<std::string>& names) {
  if (names.empty()) return;
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  ReplaceFile(folder + "/classes.txt", text);
}

}  // namespace gf
