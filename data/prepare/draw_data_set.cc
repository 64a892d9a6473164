#include "core/error.h"
#include "data/formats/output_folder.h"
#include "data/formats/record_writer.h"
#include "data/prepare/draw.h"

namespace gf {
namespace {

void DrawPart(const DrawOptions& options, const OutputFolder& folder, const std::string& name,
              int64_t first, int64_t count) {
  WriterOptions writer_options;
  writer_options.folder = folder.temporary();
  writer_options.name = name;
  writer_options.count = count;
  writer_options.class_names = ShapeNames();
  writer_options.classes = static_cast<int64_t>(ShapeNames().size());
  const auto writer = WriterRegistry::Get().Create("data format", "TAR", writer_options);
  std::vector<uint8_t> pixels(int64_t{options.size} * options.size * 3);
  Record record;
  record.data = pixels.data();
  record.size = pixels.size();
  record.raw = true;
  record.raw_size = {options.size, options.size};
  record.raw_format = {PixelType::kUINT8, 3};
  for (int64_t i = 0; i < count; ++i) {
    folder.CheckInterruption();
    record.label = DrawImage(options.seed, first + i, options.size, pixels.data());
    writer->Add(record, StrCat(name, "-", first + i));
  }
  writer->Finish();
}

}  // namespace

std::string DrawDataSet(const DrawOptions& options) {
  if (options.images < 1 || options.images > 100'000'000) {
    ThrowUserError("images: ", options.images, ", expected 1 to 100000000");
  }
  if (options.size < 16 || options.size > 1024) {
    ThrowUserError("size: ", options.size, ", expected 16 to 1024");
  }
  OutputFolder folder(options.folder, options.force);
  DrawPart(options, folder, "train", 0, options.images);
  DrawPart(options, folder, "val", options.images, (options.images + 4) / 5);
  return folder.Finish();
}

}  // namespace gf
