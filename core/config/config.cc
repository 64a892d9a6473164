#include "core/config/config.h"

#include <google/protobuf/text_format.h>

#include <string>

#include "core/config/checked_proto.h"
#include "core/config/job_checks.h"
#include "core/config/places.h"
#include "core/config/text_proto.h"
#include "core/error.h"

namespace gf {
namespace {

// A path that is relative to `folder` ("" or ending in a slash).
std::string Resolved(const std::string& folder, const std::string& path) {
  return path[0] == '/' ? path : folder + path;
}

}  // namespace

DType ToDType(ComputeType type) {
  switch (type) {
    case FP32:
      break;
    case BF16:
      return DType::kBF16;
    case FP16:
      return DType::kFP16;
  }
  return DType::kFP32;
}

JobConfig ReadJobConfig(const std::string& file, const std::vector<std::string>& overrides,
                        bool opens_data) {
  JobConfig config;
  google::protobuf::TextFormat::ParseInfoTree locations;
  ParseTextProto(ReadTextFileOrPipe(file), file, &config, &locations);
  Places places(file, config, locations);
  for (const std::string& assignment : overrides) {
    places.NoteSet(SetField(assignment, &config), assignment);
  }
  const auto name = [&](DataConfig* data) {
    if (!opens_data && data->source().empty()) data->set_source("none");
  };
  if (config.has_train_data()) name(config.mutable_train_data());
  if (config.has_validation_data()) name(config.mutable_validation_data());
  CheckJob(config, places);

  const std::string folder = file.substr(0, file.rfind('/') + 1);
  config.set_net(Resolved(folder, config.net()));
  const auto resolve_source = [&](DataConfig* data) {
    data->set_source(Resolved(folder, data->source()));
  };
  resolve_source(config.mutable_train_data());
  if (config.has_validation_data()) resolve_source(config.mutable_validation_data());
  return config;
}

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
  // Without rules: that every number is finite.
  CheckFields(net.param, FieldRules(), "", Places(name, net.param, locations));
  return net;
}

NetSource ReadNet(const std::string& file) { return ParseNet(ReadTextFile(file), file); }

}  // namespace gf
