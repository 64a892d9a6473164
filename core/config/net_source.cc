#include "core/config/config.h"
#include "core/config/text_proto.h"
#include "core/error.h"

namespace gf {

NetSource ParseNet(const std::string& text, const std::string& name) {
  NetSource net;
  net.file = name;
  google::protobuf::TextFormat::ParseInfoTree locations;
  ParseTextProto(text, name, &net.param, &locations);
  const auto* layer =
      NetParameter::descriptor()->FindFieldByNumber(NetParameter::kLayerFieldNumber);
  for (int i = 0; i < net.param.layer_size(); ++i) {
    const auto at = locations.GetLocation(layer, i);
    net.layer_locations.push_back(StrCat(name, ":", at.line + 1, ":", at.column + 1));
  }
  return net;
}

NetSource ReadNet(const std::string& file) { return ParseNet(ReadTextFile(file), file); }

}  // namespace gf
