#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

namespace gf {

// What to do where a text mixes the forms that Caffe has had for layers: `layer` (today's),
// `layers` (V1), and `layers { layer { } }` (V0). Each is "" for other mistakes.

// For a field that the open message, of this type, lacks: the text is in the V0 format, which is
// not read.
std::string V0Advice(const google::protobuf::Descriptor* type, const std::string& name);

// The same: only the other one of `layer` and `layers` has the field.
std::string V1FieldAdvice(const google::protobuf::Descriptor* type, const std::string& name);

// For a value that does not fit the field: it is a layer's type as the other one of `layer` and
// `layers` writes it.
std::string V1TypeAdvice(const google::protobuf::FieldDescriptor* field, const std::string& value);

}  // namespace gf
