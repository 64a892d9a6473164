#include "core/config/places.h"

#include <google/protobuf/descriptor.h>

#include <vector>

#include "core/error.h"

namespace gf {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

Places::Places(const std::string& name, const Message& message,
               const TextFormat::ParseInfoTree& locations)
    : name_(name) {
  Add(message, locations, "");
}

void Places::Add(const Message& message, const TextFormat::ParseInfoTree& locations,
                 const std::string& path) {
  const auto* const reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string own = PathOf(path, field->name());
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const int index = field->is_repeated() ? i : -1;
      const std::string element = field->is_repeated() ? StrCat(own, "[", i, "]") : own;
      // A list in brackets has one location: that of its first element.
      const auto at = locations.GetLocation(field, index);
      if (at.line >= 0) {
        const std::string place = StrCat(name_, ":", at.line + 1, ":", at.column + 1);
        by_path_.emplace(element, place);
        by_path_.emplace(own, place);
      }
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
      const auto* const inner = locations.GetTreeForNested(field, index);
      if (inner == nullptr) continue;
      Add(field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                               : reflection->GetMessage(message, field),
          *inner, element);
    }
  }
}

void Places::NoteSet(const std::string& path, const std::string& assignment) {
  const std::string place = "--set " + assignment;
  const std::string elements = path + "[";
  for (auto at = by_path_.lower_bound(elements);
       at != by_path_.end() && at->first.compare(0, elements.size(), elements) == 0;) {
    at = by_path_.erase(at);
  }
  by_path_[path] = place;
  // Messages that --set has added; a message that the file holds keeps its place.
  for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
    by_path_.emplace(path.substr(0, dot), place);
  }
}

bool Places::IsSet(const std::string& path) const {
  return Before(path).compare(0, 6, "--set ") == 0;
}

std::string Places::Before(const std::string& path) const {
  auto at = by_path_.find(path);
  if (at == by_path_.end() && !path.empty() && path.back() == ']') {
    at = by_path_.find(path.substr(0, path.rfind('[')));
  }
  return at == by_path_.end() ? "" : at->second + ": ";
}

std::string Places::BeforeMissing(const std::string& path) const {
  if (const std::string own = Before(path); !own.empty()) return own;
  std::string block = path;
  for (size_t dot; (dot = block.rfind('.')) != std::string::npos;) {
    block.resize(dot);
    const std::string place = Before(block);
    if (!place.empty()) return place;
  }
  return name_.empty() ? "" : name_ + ": ";
}

std::string PathOf(const std::string& outer, const std::string& name) {
  return outer.empty() ? name : outer + "." + name;
}

}  // namespace gf
