#include "solvers/report/config_table.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <set>

namespace gf {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using Rows = std::vector<std::pair<std::string, std::string>>;

std::string Value(const Message& message, const FieldDescriptor* field, int index) {
  if (index < 0 && field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    return message.GetReflection()->GetString(message, field);
  }
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  std::string text;
  printer.PrintFieldValueToString(message, field, index, &text);
  if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return text;
  return "{ " + text + (text.empty() || text.back() == ' ' ? "}" : " }");
}

void Flatten(const Message& message, const std::string& prefix, Rows* rows) {
  const auto* reflection = message.GetReflection();
  const auto* descriptor = message.GetDescriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    const std::string name = prefix + field->name();
    if (field->is_repeated()) {
      std::string values;
      for (int k = 0; k < reflection->FieldSize(message, field); ++k) {
        values += (k ? "," : "") + Value(message, field, k);
      }
      if (!values.empty()) rows->emplace_back(name, values);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      // An absent data set has no settings; other absent messages have their defaults.
      const bool present = reflection->HasField(message, field);
      const bool is_data = field->message_type()->name() == "DataConfig";
      if (present || !is_data) Flatten(reflection->GetMessage(message, field), name + ".", rows);
    } else if (reflection->HasField(message, field) || field->has_default_value()) {
      rows->emplace_back(name, Value(message, field, -1));
    }
  }
}

}  // namespace

Rows ConfigTable(const Message& config) {
  Rows rows;
  Flatten(config, "", &rows);
  return rows;
}

Rows ChangedSettings(const JobConfig& config) {
  JobConfig defaults;
  defaults.mutable_train_data();
  defaults.mutable_validation_data();
  const Rows default_rows = ConfigTable(defaults);
  const std::set<Rows::value_type> unchanged(default_rows.begin(), default_rows.end());
  Rows rows = ConfigTable(config);
  rows.erase(std::remove_if(rows.begin(), rows.end(),
                            [&](const auto& row) { return unchanged.count(row) > 0; }),
             rows.end());
  return rows;
}

}  // namespace gf
