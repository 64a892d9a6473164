#include "tests/models/named_tensors.h"

#include "solvers/checkpoint/safetensors.h"

namespace gf {

void WriteTensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                  const std::vector<int64_t>& labels) {
  std::vector<SafetensorsEntry> entries;
  for (const NamedTensor& tensor : tensors) {
    SafetensorsEntry entry;
    entry.name = tensor.name;
    entry.shape = tensor.shape;
    entries.push_back(entry);
  }
  if (!labels.empty()) {
    SafetensorsEntry entry;
    entry.name = "label";
    entry.dtype = "I64";
    entry.shape = Shape{static_cast<int64_t>(labels.size())};
    entries.push_back(entry);
  }
  SafetensorsWriter writer(path, entries, {});
  for (const NamedTensor& tensor : tensors) {
    writer.Write(tensor.values.data(), tensor.values.size() * sizeof(float));
  }
  if (!labels.empty()) writer.Write(labels.data(), labels.size() * sizeof(int64_t));
  writer.Finish();
}

}  // namespace gf
