#include "core/config/config.h"

#include <glob.h>
#include <google/protobuf/text_format.h>

#include <filesystem>
#include <string>

#include "core/config/checked_proto.h"
#include "core/config/job_checks.h"
#include "core/config/places.h"
#include "core/config/text_proto.h"
#include "core/config/v1_layers.h"
#include "core/error.h"

namespace gf {
namespace {

// A path that is relative to `folder` ("" or ending in a slash).
std::string Resolved(const std::string& folder, const std::string& path) {
  return path[0] == '/' ? path : folder + path;
}

// Whether a file or folder fits a path or pattern.
bool Exists(const std::string& pattern) {
  glob_t found = {};
  const bool exists = glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0;
  globfree(&found);
  return exists;
}

// Refuses a path of `field` that exists in the working folder alone, and not in the config's
// `folder`: a mistake of which the file system's own message would not tell.
void CheckFolder(const std::string& folder, const std::string& path, const std::string& field,
                 const Places& places) {
  const std::string resolved = Resolved(folder, path);
  if (resolved == path || Exists(resolved) || !Exists(path)) return;
  const auto absolute = [](const std::string& name) {
    return std::filesystem::current_path() / name;
  };
  const std::string better = absolute(path).lexically_relative(absolute(folder)).string();
  ThrowUserError(places.Before(field), field, ": ", resolved, " does not exist, but ", path,
                 " does: net and data are relative to the config file; write ",
                 better.empty() ? "" : better + " or ", "the whole path");
}

// Applies the values of --set, and checks the job.
void Override(const std::vector<std::string>& overrides, OpenedData opened, Places* places,
              JobConfig* config) {
  for (const std::string& assignment : overrides) {
    places->NoteSet(SetField(assignment, config), assignment);
  }
  const auto name = [&](DataConfig* data) {
    if (opened == OpenedData::kNone && data->source().empty()) data->set_source("none");
  };
  if (config->has_train_data()) name(config->mutable_train_data());
  if (config->has_validation_data()) name(config->mutable_validation_data());
  CheckJob(*config, *places);
}

// "file:line:col" of each element of a repeated field of a net.
std::vector<std::string> LocationsOf(const std::string& file, int field, int count,
                                     const google::protobuf::TextFormat::ParseInfoTree& locations) {
  const auto* const descriptor = NetParameter::descriptor()->FindFieldByNumber(field);
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) {
    const auto at = locations.GetLocation(descriptor, i);
    all.push_back(StrCat(file, ":", at.line + 1, ":", at.column + 1));
  }
  return all;
}

// Turns the `layers` of a net, which stand at `locations`, into `layer`.
void UpgradeV1Layers(const std::vector<std::string>& locations, NetSource* net) {
  if (locations.empty()) return;
  if (net->param.layer_size() > 0) {
    ThrowUserError(locations[0], ": the net has layers { } of Caffe's V1 format, but layer { } at ",
                   net->layer_locations[0], ": write all of them in one form");
  }
  for (V1LayerParameter& old : *net->param.mutable_layers()) {
    *net->param.add_layer() = UpgradeV1Layer(&old);
  }
  net->param.clear_layers();
  net->layer_locations = locations;
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
                        OpenedData opened) {
  JobConfig config;
  google::protobuf::TextFormat::ParseInfoTree locations;
  ParseTextProto(ReadTextFileOrPipe(file), file, &config, &locations);
  Places places(file, config, locations);
  Override(overrides, opened, &places, &config);

  const std::string folder = file.substr(0, file.rfind('/') + 1);
  const auto resolve = [&](const std::string& field, const std::string& path, bool opens) {
    std::error_code code;
    if (opens && std::filesystem::is_regular_file(file, code)) {
      CheckFolder(folder, path, field, places);
    }
    return Resolved(folder, path);
  };
  config.set_net(resolve("net", config.net(), true));
  const auto resolve_data = [&](const std::string& block, DataConfig* data, bool opens) {
    data->set_source(resolve(block + ".source", data->source(), opens));
    if (!data->root_folder().empty()) {
      data->set_root_folder(resolve(block + ".root_folder", data->root_folder(), opens));
    }
    if (!data->mean_file().empty()) {
      data->set_mean_file(resolve(block + ".mean_file", data->mean_file(), opens));
    }
    if (!data->labels().file().empty()) {
      data->mutable_labels()->set_file(
          resolve(block + ".labels.file", data->labels().file(), opens));
    }
  };
  resolve_data("train_data", config.mutable_train_data(), opened == OpenedData::kAll);
  if (config.has_validation_data()) {
    resolve_data("validation_data", config.mutable_validation_data(), opened != OpenedData::kNone);
  }
  return config;
}

JobConfig FinishJobConfig(JobConfig config, const std::string& name,
                          const std::vector<std::string>& overrides) {
  Places places(name, JobConfig(), google::protobuf::TextFormat::ParseInfoTree());
  Override(overrides, OpenedData::kAll, &places, &config);
  return config;
}

void MakePathsAbsolute(JobConfig* config) {
  const auto absolute = [](const std::string& path) {
    return std::filesystem::absolute(path).string();
  };
  const auto resolve = [&](DataConfig* data) {
    data->set_source(absolute(data->source()));
    if (!data->root_folder().empty()) data->set_root_folder(absolute(data->root_folder()));
    if (!data->mean_file().empty()) data->set_mean_file(absolute(data->mean_file()));
    if (data->labels().file().empty()) return;
    data->mutable_labels()->set_file(absolute(data->labels().file()));
  };
  config->set_net(absolute(config->net()));
  resolve(config->mutable_train_data());
  if (config->has_validation_data()) resolve(config->mutable_validation_data());
}

NetSource ParseNet(const std::string& text, const std::string& name) {
  NetSource net;
  net.file = name;
  google::protobuf::TextFormat::ParseInfoTree locations;
  ParseTextProto(text, name, &net.param, &locations);
  net.layer_locations =
      LocationsOf(name, NetParameter::kLayerFieldNumber, net.param.layer_size(), locations);
  // Without rules: that every number is finite.
  CheckFields(net.param, FieldRules(), "", Places(name, net.param, locations));
  UpgradeV1Layers(
      LocationsOf(name, NetParameter::kLayersFieldNumber, net.param.layers_size(), locations),
      &net);
  return net;
}

NetSource ReadNet(const std::string& file) {
  NetSource net = ParseNet(ReadTextFile(file), file);
  const std::string folder = file.substr(0, file.rfind('/') + 1);
  for (LayerParameter& layer : *net.param.mutable_layer()) {
    if (layer.infogain_loss_param().source().empty()) continue;
    std::string* const source = layer.mutable_infogain_loss_param()->mutable_source();
    *source = Resolved(folder, *source);
  }
  return net;
}

}  // namespace gf
