#include "core/config/v1_advice.h"

#include "core/config/net.pb.h"
#include "core/config/v1_layers.h"
#include "core/str_cat.h"

namespace gf {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

std::string V0Advice(const Descriptor* type, const std::string& name) {
  if (type != V1LayerParameter::descriptor() || name != "layer") return "";
  return "layers { layer { } } is Caffe's V0 format, which is not read: upgrade the net with "
         "Caffe's upgrade_net_proto_text tool";
}

std::string V1FieldAdvice(const Descriptor* type, const std::string& name) {
  const auto has = [&](const Descriptor* other) { return other->FindFieldByName(name) != nullptr; };
  if (type == LayerParameter::descriptor() && has(V1LayerParameter::descriptor())) {
    return "it goes with layers { } of Caffe's V1 format; here, write param { lr_mult: ... "
           "decay_mult: ... } for each parameter";
  }
  if (type == V1LayerParameter::descriptor() && has(LayerParameter::descriptor())) {
    return "it goes with layer { }, not with layers { } of Caffe's V1 format: write all layers as "
           "layer { type: \"...\" }";
  }
  return "";
}

std::string V1TypeAdvice(const FieldDescriptor* field, const std::string& value) {
  if (field->name() != "type" || value.empty()) return "";
  const bool quoted = value[0] == '"' || value[0] == '\'';
  if (quoted && field->containing_type() == V1LayerParameter::descriptor()) {
    return StrCat("type: ", value, " goes with layer { }, not with layers { } of Caffe's V1 format",
                  ": write layer { }");
  }
  auto type = V1LayerParameter::NONE;
  if (field->containing_type() == LayerParameter::descriptor() &&
      V1LayerParameter::LayerType_Parse(value, &type) && type != V1LayerParameter::NONE) {
    return StrCat("type: ", value, " goes with layers { } of Caffe's V1 format: write type: \"",
                  TypeOfV1(type), "\"");
  }
  return "";
}

}  // namespace gf
