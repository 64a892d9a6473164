#pragma once

#include <google/protobuf/message.h>

#include <map>
#include <string>

namespace gf {

// What a number may be; both ends are allowed.
struct NumberRange {
  double least = 0, most = 0;
  bool required = false;
};

// Rules by "Message.field": ranges of numbers; of fields without a range only `required` counts.
using FieldRules = std::map<std::string, NumberRange>;

// Parses a prototxt and checks every number in it. Throws UserError "name:line:col: path: what" for
// numbers that are out of range or not finite and for required fields that are missing.
void ParseChecked(const std::string& text, const std::string& name, const FieldRules& rules,
                  google::protobuf::Message* message);

}  // namespace gf
