#include "core/config/config.h"

#include <google/protobuf/text_format.h>

#include <filesystem>
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

// The part of a path or pattern that must exist: all before the last / that precedes a wildcard.
std::string FixedPart(const std::string& path) {
  const size_t wildcard = path.find_first_of("*?[");
  if (wildcard == std::string::npos) return path;
  const size_t slash = path.rfind('/', wildcard);
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// The path of `field`, which the job gives relative to `folder`. A path that exists in the working
// folder alone is a mistake of which the file system's own message would not tell.
std::string InFolder(const std::string& folder, const std::string& path, const std::string& field,
                     const Places& places) {
  const std::string resolved = Resolved(folder, path), fixed = FixedPart(path);
  std::error_code code;
  if (!fixed.empty() && resolved != path && std::filesystem::exists(fixed, code) &&
      !std::filesystem::exists(FixedPart(resolved), code)) {
    ThrowUserError(places.Before(field), field, ": ", resolved, " does not exist, but ", path,
                   " does: net and data are relative to the config file; write ",
                   std::filesystem::relative(path, folder, code).string(), " or the whole path");
  }
  return resolved;
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
  config.set_net(InFolder(folder, config.net(), "net", places));
  const auto resolve_source = [&](const std::string& block, DataConfig* data) {
    const std::string& source = data->source();
    data->set_source(opens_data ? InFolder(folder, source, block + ".source", places)
                                : Resolved(folder, source));
  };
  resolve_source("train_data", config.mutable_train_data());
  if (config.has_validation_data()) {
    resolve_source("validation_data", config.mutable_validation_data());
  }
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
