#include <google/protobuf/descriptor.h>

#include <charconv>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/config/meant_setting.h"
#include "core/config/nearest.h"
#include "core/error.h"

namespace gf {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// One assignment being applied; `path` is as far as it was understood.
struct Target {
  std::string assignment, path;
  Message* message = nullptr;
  const FieldDescriptor* field = nullptr;
  int index = -1;  // element of a repeated field, -1 = none was named
};

template <typename... Args>
[[noreturn]] void Fail(const Target& target, const Args&... args) {
  ThrowUserError("--set ", target.assignment, ": ", args...);
}

std::string Trim(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + 1) {
    parts.push_back(text.substr(begin, end - begin));
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::vector<std::string> FieldNames(const Descriptor* type) {
  std::vector<std::string> names;
  for (int i = 0; i < type->field_count(); ++i) names.push_back(type->field(i)->name());
  return names;
}

template <typename T>
T ParseNumber(const Target& target, const std::string& text, const char* kind) {
  const std::string trimmed = Trim(text);
  const char* begin = trimmed.c_str();
  const char* end = begin + trimmed.size();
  if (begin != end && *begin == '+') ++begin;
  T value{};
  const auto result = std::from_chars(begin, end, value);
  if (result.ec == std::errc::result_out_of_range) {
    Fail(target, target.path, ": ", text, " is out of the range of ", kind);
  }
  if (begin == end || result.ec != std::errc() || result.ptr != end) {
    Fail(target, target.path, ": \"", text, "\" is not ", kind);
  }
  return value;
}

bool ParseBool(const Target& target, const std::string& text) {
  const std::string value = Trim(text);
  if (value == "true" || value == "1") return true;
  if (value == "false" || value == "0") return false;
  Fail(target, target.path, ": \"", text, "\" is not true or false");
}

int ParseEnum(const Target& target, const std::string& text) {
  const auto* type = target.field->enum_type();
  if (const auto* value = type->FindValueByName(Trim(text))) return value->number();
  std::vector<std::string> names;
  for (int i = 0; i < type->value_count(); ++i) names.push_back(type->value(i)->name());
  const std::string nearest = Nearest(text, names);
  Fail(target, target.path, ": cannot be \"", text, "\"",
       nearest.empty() ? "" : "; did you mean " + nearest + "?", " (one of ", Join(names), ")");
}

std::string Unquote(const std::string& text) {
  const bool quoted =
      text.size() >= 2 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0];
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// Sets the field, or an element of it, or appends one.
void SetValue(const Target& target, const std::string& text) {
  Message* const message = target.message;
  const FieldDescriptor* const field = target.field;
  const Reflection* const reflection = message->GetReflection();
  const auto store = [&](auto set, auto set_element, auto append, const auto& value) {
    if (!field->is_repeated()) {
      (reflection->*set)(message, field, value);
    } else if (target.index >= 0) {
      (reflection->*set_element)(message, field, target.index, value);
    } else {
      (reflection->*append)(message, field, value);
    }
  };
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return store(&Reflection::SetInt32, &Reflection::SetRepeatedInt32, &Reflection::AddInt32,
                   ParseNumber<int32_t>(target, text, "a 32-bit integer"));
    case FieldDescriptor::CPPTYPE_INT64:
      return store(&Reflection::SetInt64, &Reflection::SetRepeatedInt64, &Reflection::AddInt64,
                   ParseNumber<int64_t>(target, text, "a 64-bit integer"));
    case FieldDescriptor::CPPTYPE_UINT32:
      return store(&Reflection::SetUInt32, &Reflection::SetRepeatedUInt32, &Reflection::AddUInt32,
                   ParseNumber<uint32_t>(target, text, "an unsigned 32-bit integer"));
    case FieldDescriptor::CPPTYPE_UINT64:
      return store(&Reflection::SetUInt64, &Reflection::SetRepeatedUInt64, &Reflection::AddUInt64,
                   ParseNumber<uint64_t>(target, text, "an unsigned 64-bit integer"));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return store(&Reflection::SetFloat, &Reflection::SetRepeatedFloat, &Reflection::AddFloat,
                   ParseNumber<float>(target, text, "a number"));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return store(&Reflection::SetDouble, &Reflection::SetRepeatedDouble, &Reflection::AddDouble,
                   ParseNumber<double>(target, text, "a number"));
    case FieldDescriptor::CPPTYPE_BOOL:
      return store(&Reflection::SetBool, &Reflection::SetRepeatedBool, &Reflection::AddBool,
                   ParseBool(target, text));
    case FieldDescriptor::CPPTYPE_ENUM:
      return store(&Reflection::SetEnumValue, &Reflection::SetRepeatedEnumValue,
                   &Reflection::AddEnumValue, ParseEnum(target, text));
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string value = Unquote(text);
      if (!field->is_repeated()) return reflection->SetString(message, field, value);
      if (target.index < 0) return reflection->AddString(message, field, value);
      return reflection->SetRepeatedString(message, field, target.index, value);
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      Fail(target, target.path, " is a block: set one of its fields (",
           Join(FieldNames(field->message_type())), "), or remove it with ", target.path, "=");
  }
}

// Resolves one part of the path, "name" or "name[index]", within target->message.
void Resolve(const std::string& part, Target* target) {
  const size_t bracket = part.find('[');
  const std::string name = part.substr(0, bracket);
  const Descriptor* type = target->message->GetDescriptor();
  target->field = type->FindFieldByName(name);
  if (target->field == nullptr) {
    const std::string where = target->path.empty() ? "" : target->path + ": ";
    const std::vector<std::string> known = FieldNames(type);
    const std::string meant = Nearest(name, known).empty() ? MeantField(type, name) : "";
    Fail(*target, where, type->name(), " has no field \"", name, "\"",
         meant.empty() ? Suggestion(name, known) : "; did you mean " + meant + "?");
  }
  target->path += (target->path.empty() ? "" : ".") + part;
  target->index = -1;
  if (bracket == std::string::npos) return;
  if (!target->field->is_repeated()) Fail(*target, target->path, ": ", name, " is not repeated");
  if (part.back() != ']') Fail(*target, target->path, ": a ] is missing");
  target->index =
      ParseNumber<int>(*target, part.substr(bracket + 1, part.size() - bracket - 2), "an index");
  // "[01]" is element 1, too.
  target->path.resize(target->path.size() - (part.size() - bracket));
  target->path += StrCat("[", target->index, "]");
  const Reflection* reflection = target->message->GetReflection();
  const int size = reflection->FieldSize(*target->message, target->field);
  if (target->index == size && target->field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    reflection->AddMessage(target->message, target->field);
    return;
  }
  if (target->index < 0 || target->index >= size) {
    Fail(*target, target->path, ": there are ", size, " elements, counted from 0");
  }
}

// Goes on into the sub-message that was just resolved.
void Descend(Target* target) {
  const FieldDescriptor* field = target->field;
  if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    Fail(*target, target->path, " has no fields of its own");
  }
  if (field->is_repeated() && target->index < 0) {
    Fail(*target, target->path, " is repeated: name one element, ", target->path, "[0]");
  }
  const Reflection* reflection = target->message->GetReflection();
  target->message = field->is_repeated()
                        ? reflection->MutableRepeatedMessage(target->message, field, target->index)
                        : reflection->MutableMessage(target->message, field);
}

}  // namespace

std::string SetField(const std::string& assignment, Message* message) {
  Target target;
  target.assignment = assignment;
  target.message = message;
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos) {
    Fail(target, "a value is missing: write path.to.field=value");
  }
  const std::string path = Trim(assignment.substr(0, equals));
  const std::string value = assignment.substr(equals + 1);
  if (path.empty()) Fail(target, "the field's name is missing: write path.to.field=value");
  const std::vector<std::string> parts = Split(path, '.');
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) Descend(&target);
    Resolve(parts[i], &target);
  }
  const bool block = target.field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  const bool whole_list = target.field->is_repeated() && target.index < 0;
  const bool removes = Trim(value).empty() && target.index < 0 && (block || whole_list);
  if (!removes && (block || !whole_list)) {
    SetValue(target, value);
    return target.path;
  }
  target.message->GetReflection()->ClearField(target.message, target.field);
  if (removes) return target.path;
  // Also in the brackets that a list has in a file.
  std::string list = Trim(value);
  if (list.size() >= 2 && list.front() == '[' && list.back() == ']') {
    list = list.substr(1, list.size() - 2);
  }
  for (const std::string& element : Split(list, ',')) SetValue(target, element);
  return target.path;
}

}  // namespace gf
