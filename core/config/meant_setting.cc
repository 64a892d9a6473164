#include "core/config/meant_setting.h"

#include <map>

#include "core/config/job.pb.h"

namespace gf {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// Depth first, in the order of the file.
std::string PathOf(const Descriptor* type, const std::string& name) {
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* const field = type->field(i);
    const bool is_block = field->message_type() != nullptr;
    if (field->name() == name && !is_block) return name;
    if (!is_block || field->is_repeated()) continue;
    const std::string inner = PathOf(field->message_type(), name);
    if (!inner.empty()) return field->name() + "." + inner;
  }
  return "";
}

// What training scripts call the same thing.
const std::map<std::string, std::string>& OtherNames() {
  static const auto* const names = new std::map<std::string, std::string>{
      {"arch", "net"},
      {"dtype", "compute_type"},
      {"epochs", "solver.max_epochs"},
      {"iterations", "solver.max_steps"},
      {"learning_rate", "solver.base_lr"},
      {"lr", "solver.base_lr"},
      {"model", "net"},
      {"num_classes", "classes"},
      {"num_epochs", "solver.max_epochs"},
      {"num_workers", "train_data.workers"},
      {"optim", "solver.type"},
      {"optimizer", "solver.type"},
      {"precision", "compute_type"},
      {"wd", "solver.weight_decay"},
  };
  return *names;
}

}  // namespace

std::string MeantSetting(const std::string& name) {
  const auto other = OtherNames().find(name);
  return other == OtherNames().end() ? PathOf(JobConfig::descriptor(), name) : other->second;
}

std::string MeantField(const Descriptor* type, const std::string& name) {
  if (type->file() != JobConfig::descriptor()->file()) return "";
  const std::string path = MeantSetting(name), field = path.substr(path.rfind('.') + 1);
  return type->FindFieldByName(field) == nullptr ? path : field;
}

}  // namespace gf
