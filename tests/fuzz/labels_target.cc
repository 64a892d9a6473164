// Lists of images, and files of labels.
#include <glog/logging.h>

#include <cmath>

#include "data/formats/label_file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/memory_file.h"

namespace gf {
namespace {

void Check(const RecordSource& source) {
  std::vector<float> labels;
  for (int64_t i = 0; i < source.size(); ++i) {
    source.Labels(i, &labels);
    const bool values = source.label_type() == LabelConfig::VALUES;
    if (values && static_cast<int64_t>(labels.size()) != source.classes()) __builtin_trap();
    for (const float label : labels) {
      if (!std::isfinite(label)) __builtin_trap();
      if (!values && (label < 0 || label >= static_cast<float>(source.classes()))) __builtin_trap();
    }
    if (source.Where(i).empty()) __builtin_trap();
  }
}

}  // namespace
}  // namespace gf

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static gf::MemoryFile file;
  FLAGS_minloglevel = google::GLOG_ERROR;  // no warnings about lines that are left out
  file.Set(data, size);
  for (const auto type :
       {gf::LabelConfig::CLASS, gf::LabelConfig::CLASSES, gf::LabelConfig::VALUES}) {
    gf::SourceOptions options = {file.path(), /*skip_damaged=*/true};
    options.labels.set_type(type);
    try {
      gf::Check(*gf::OpenSource("LIST", options));
    } catch (const gf::UserError&) {
    }
    // The images of a list, with the labels of the same text.
    options.labels.set_file(file.path());
    try {
      gf::Check(*gf::OpenSource("LIST", options));
    } catch (const gf::UserError&) {
    }
  }
  return 0;
}
