#include "core/config/checked_proto.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>

#include <cmath>

#include "core/config/text_proto.h"
#include "core/error.h"

namespace gf {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using ParseInfo = google::protobuf::TextFormat::ParseInfoTree;

class Checker {
 public:
  Checker(const std::string& name, const FieldRules& rules) : name_(name), rules_(rules) {}

  // `where`: of the message's own beginning.
  void Check(const Message& message, const ParseInfo* info, const std::string& path,
             const std::string& where) const {
    const auto* reflection = message.GetReflection();
    const auto* descriptor = message.GetDescriptor();
    for (int f = 0; f < descriptor->field_count(); ++f) {
      const FieldDescriptor* field = descriptor->field(f);
      const std::string own = path + (path.empty() ? "" : ".") + field->name();
      const auto rule = rules_.find(descriptor->name() + "." + field->name());
      const bool repeated = field->is_repeated();
      const int count = repeated ? reflection->FieldSize(message, field)
                                 : static_cast<int>(reflection->HasField(message, field));
      if (count == 0 && rule != rules_.end() && rule->second.required) {
        ThrowUserError(where, ": ", own, " is missing");
      }
      for (int i = 0; i < count; ++i) {
        const int index = repeated ? i : -1;
        const std::string element = repeated ? StrCat(own, "[", i, "]") : own;
        const std::string at = Location(info, field, index, where);
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
          const Message& inner = repeated ? reflection->GetRepeatedMessage(message, field, i)
                                          : reflection->GetMessage(message, field);
          Check(inner, info == nullptr ? nullptr : info->GetTreeForNested(field, index), element,
                at);
        } else if (!repeated && rule != rules_.end()) {
          CheckNumber(Number(message, field), rule->second, element, at);
        }
      }
    }
  }

 private:
  static double Number(const Message& message, const FieldDescriptor* field) {
    const auto* reflection = message.GetReflection();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return reflection->GetDouble(message, field);
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection->GetInt32(message, field);
      case FieldDescriptor::CPPTYPE_INT64:
        return static_cast<double>(reflection->GetInt64(message, field));
      default:
        return 0;
    }
  }

  static void CheckNumber(double value, const NumberRange& range, const std::string& path,
                          const std::string& at) {
    if (value >= range.least && value <= range.most) return;
    if (range.least == range.most) return;  // not a number
    ThrowUserError(at, ": ", path, " is ", value, ", expected ", range.least, " to ", range.most);
  }

  std::string Location(const ParseInfo* info, const FieldDescriptor* field, int index,
                       const std::string& otherwise) const {
    if (info == nullptr) return otherwise;
    const auto location = info->GetLocation(field, index);
    if (location.line < 0) return otherwise;
    return StrCat(name_, ":", location.line + 1, ":", location.column + 1);
  }

  const std::string& name_;
  const FieldRules& rules_;
};

}  // namespace

void ParseChecked(const std::string& text, const std::string& name, const FieldRules& rules,
                  Message* message) {
  ParseInfo info;
  ParseTextProto(text, name, message, &info);
  Checker(name, rules).Check(*message, &info, "", name);
}

}  // namespace gf
