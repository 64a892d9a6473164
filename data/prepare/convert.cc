#include "data/prepare/convert.h"

#include <filesystem>
#include <system_error>

#include "core/error.h"
#include "data/formats/output_folder.h"
#include "data/formats/record_source.h"
#include "data/formats/record_writer.h"

namespace gf {
namespace {

std::string BaseName(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.substr(path.rfind('/') + 1);
}

// `resized` holds the pixels that `record` points to afterwards.
void Resize(const ConvertOptions& options, Renderer* renderer, Record* record,
            EncodedImage* resized) {
  constexpr int kQuality = 92;
  if (record->raw) {
    ThrowUserError("resize: ", options.resize.ToString(), " is for encoded images, not raw ones");
  }
  *resized = ResizeRecord(*record, options.resize, options.quality > 0 ? options.quality : kQuality,
                          renderer);
  record->data = resized->data;
  record->size = resized->size;
}

// The path without links, with a slash at its end; "" if it cannot be told.
std::string RealFolder(const std::string& path) {
  std::error_code error;
  std::string real = std::filesystem::weakly_canonical(path, error).string();
  if (error) return "";
  while (!real.empty() && real.back() == '/') real.pop_back();
  return real + "/";
}

// Below a folder of classes, the new data set would be a class.
void CheckOutside(const ConvertOptions& options, const SourceOptions& from) {
  if (FormatOf(options.from_format, from) != "FOLDER") return;
  const std::string source = RealFolder(options.from), target = RealFolder(options.to);
  if (source.empty() || target == source || target.compare(0, source.size(), source) != 0) return;
  ThrowUserError("to: ", options.to, " is in ", options.from,
                 ", the data set to read: choose a folder outside of it");
}

}  // namespace

ConvertResult ConvertDataSet(const ConvertOptions& options) {
  if (options.quality < 0 || options.quality > 100) {
    ThrowUserError("quality: ", options.quality, ", expected 1 to 100, or 0 for PNG");
  }
  if (options.shards < 0) ThrowUserError("shards: ", options.shards, ", expected 0 or more");
  if (options.grayscale && options.format != "IDX") {
    ThrowUserError("grayscale: for format idx only; the images of ", options.format,
                   " keep their colors (train_data.channels: 1 reads them as grayscale)");
  }
  const bool several = options.labels.type() != LabelConfig::CLASS;
  if (several && options.format != "TAR") {
    ThrowUserError("labels: format ", options.format, " holds one class per image, and labels of ",
                   "type ", LabelConfig::Type_Name(options.labels.type()),
                   " are given: write --format=tar");
  }
  const SourceOptions from = {options.from, options.skip_damaged, options.labels,
                              options.root_folder};
  const auto source = OpenSource(options.from_format, from);
  CheckOutside(options, from);
  OutputFolder folder(options.to, options.force);

  WriterOptions writer_options;
  writer_options.folder = folder.temporary();
  writer_options.name = BaseName(options.to);
  if (writer_options.name.find_first_not_of('.') == std::string::npos) writer_options.name = "data";
  writer_options.count = source->size();
  writer_options.classes = source->classes();
  writer_options.class_names = source->ClassNames();
  writer_options.labels = source->label_type();
  writer_options.shards = options.shards;
  writer_options.quality = options.quality;
  writer_options.grayscale = options.grayscale;
  const auto writer = WriterRegistry::Get().Create("data format", options.format, writer_options);

  ConvertResult result;
  result.skipped = source->skipped();
  Record record;
  Renderer renderer;
  EncodedImage resized;
  for (int64_t i = 0; i < source->size(); ++i) {
    folder.CheckInterruption();
    try {
      source->Read(i, &record);
      if (several) source->Labels(i, &record.labels);
      if (!options.resize.Nothing()) {
        Resize(options, &renderer, &record, &resized);
      } else if (!record.raw && options.quality > 0) {
        ThrowUserError(
            "quality: ", options.quality,
            " applies only to raw (idx) images and with --resize: encoded images keep their "
            "bytes");
      }
      writer->Add(record, source->Key(i));
      ++result.written;
    } catch (const SampleError& error) {
      const std::string message = StrCat(source->Where(i), ": ", error.what());
      if (!options.skip_damaged) {
        ThrowUserError(message, "; --skip_damaged leaves such samples out");
      }
      PrintWarning("left out: ", message);
      ++result.skipped;
    } catch (const UserError& error) {
      ThrowUserError(source->Where(i), ": ", error.what());
    }
  }
  if (result.written == 0) ThrowUserError(options.from, ": no good image is left to write");
  writer->Finish();
  result.old = folder.Finish();
  return result;
}

}  // namespace gf
