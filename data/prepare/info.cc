#include "data/prepare/info.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "data/formats/record_source.h"

namespace gf {
namespace {

constexpr int64_t kMaxRows = 10'000;

// The classes to print and their images: those that have images or a name.
std::map<int64_t, int64_t> Rows(const DataSetInfo& info) {
  std::map<int64_t, int64_t> rows = info.counts;
  for (size_t label = 0; label < info.class_names.size(); ++label) rows.emplace(label, 0);
  return rows;
}

// Adds up the labels of all images.
void CountLabels(const RecordSource& source, DataSetInfo* info) {
  info->labels = source.label_type();
  std::vector<float> labels;
  for (int64_t i = 0; i < source.size(); ++i) {
    source.Labels(i, &labels);
    if (info->labels != LabelConfig::VALUES) {
      for (const float label : labels) ++info->counts[static_cast<int64_t>(label)];
      info->class_labels += static_cast<int64_t>(labels.size());
      continue;
    }
    info->values.resize(labels.size());
    for (size_t k = 0; k < labels.size(); ++k) {
      ValueRange& range = info->values[k];
      const double value = labels[k];
      range.mean += value;
      range.least = i == 0 ? value : std::min(range.least, value);
      range.most = i == 0 ? value : std::max(range.most, value);
    }
  }
  for (ValueRange& range : info->values) range.mean /= static_cast<double>(source.size());
}

// A row per value.
void PrintValues(const DataSetInfo& info, std::ostream& out) {
  out << "values     " << info.classes << "\n";
  out << "  value       mean      least       most\n";
  for (size_t k = 0; k < info.values.size(); ++k) {
    const ValueRange& range = info.values[k];
    out << std::setw(7) << k << " " << std::setw(10) << range.mean << " " << std::setw(10)
        << range.least << " " << std::setw(10) << range.most;
    if (k < info.class_names.size()) out << "  " << info.class_names[k];
    out << "\n";
  }
}

}  // namespace

DataSetInfo InspectDataSet(const std::string& path, const std::string& format,
                           const LabelConfig& labels, const std::string& root_folder) {
  constexpr size_t kExamples = 5;
  const auto source = OpenSource(format, {path, /*skip_damaged=*/true, labels, root_folder});
  DataSetInfo info;
  info.description = source->Describe();
  info.images = source->size();
  info.classes = source->classes();
  info.class_names = source->ClassNames();
  info.damaged = source->skipped();
  CountLabels(*source, &info);
  bool first = true;
  Record record;
  for (int64_t i = 0; i < source->size(); ++i) {
    try {
      source->Read(i, &record);
      info.bytes += record.size;
      const ImageInfo image = RecordInfo(record);
      const int height = image.size.height, width = image.size.width;
      info.min_height = first ? height : std::min(info.min_height, height);
      info.min_width = first ? width : std::min(info.min_width, width);
      info.max_height = std::max(info.max_height, height);
      info.max_width = std::max(info.max_width, width);
      info.grayscale += image.channels == 1;
      if (image.type != PixelType::kUINT8) ++info.kinds[Name(image.type)];
      if (image.channels != 1 && image.channels != 3) {
        ++info.kinds[StrCat(image.channels, " channels")];
      }
      first = false;
    } catch (const SampleError& error) {
      ++info.damaged;
      if (info.damaged_examples.size() < kExamples) {
        info.damaged_examples.push_back(StrCat(source->Where(i), ": ", error.what()));
      }
    }
  }
  return info;
}

std::string FormatInfo(const DataSetInfo& info) {
  std::ostringstream out;
  out << "format     " << info.description << "\n";
  out << "images     " << info.images << " (" << info.grayscale << " grayscale";
  for (const auto& [kind, count] : info.kinds) out << ", " << count << " of " << kind;
  out << ")\n";
  out << "bytes      " << info.bytes << " (" << info.bytes / std::max<int64_t>(info.images, 1)
      << " per image)\n";
  out << "height     " << info.min_height << " to " << info.max_height << "\n";
  out << "width      " << info.min_width << " to " << info.max_width << "\n";
  out << "damaged    " << info.damaged << "\n";
  for (const std::string& example : info.damaged_examples) out << "  " << example << "\n";
  if (info.labels == LabelConfig::VALUES) {
    PrintValues(info, out);
    return out.str();
  }
  out << "classes    " << info.classes << "\n";
  if (info.labels == LabelConfig::CLASSES) {
    out << "labels     " << info.class_labels << " ("
        << static_cast<double>(info.class_labels) / static_cast<double>(info.images)
        << " per image)\n";
  }
  const std::map<int64_t, int64_t> rows = Rows(info);
  int64_t printed = 0;
  for (const auto& [label, count] : rows) {
    if (printed++ == kMaxRows) {
      out << "  and " << rows.size() - kMaxRows << " more\n";
      break;
    }
    out << std::setw(7) << label << std::setw(10) << count;
    if (label < static_cast<int64_t>(info.class_names.size()))
      out << "  " << info.class_names[label];
    out << "\n";
  }
  return out.str();
}

}  // namespace gf
