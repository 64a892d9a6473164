#include "solvers/run_folder.h"

#include <climits>
#include <cstdlib>
#include <string>

#include "core/config.h"
#include "core/error.h"
#include "data/file.h"
#include "solvers/file_io.h"

namespace gf {
namespace {

// A glob's folder is resolved, its pattern is not.
std::string Absolute(const std::string& path) {
  if (path.empty() || path[0] == '/') return path;
  char folder[PATH_MAX];
  const char* const found = realpath(".", folder);
  return found == nullptr ? path : StrCat(found, "/", path);
}

// Takes out what follows from the folder: who runs the config again names another one.
void ClearPlaces(JobConfig* config) {
  JobConfig placed;
  placed.mutable_telemetry()->set_run_dir(config->telemetry().run_dir());
  PlaceOutputs(&placed);
  config->mutable_telemetry()->clear_run_dir();
  if (config->telemetry().jsonl() == placed.telemetry().jsonl()) {
    config->mutable_telemetry()->clear_jsonl();
  }
  if (config->comm().flight_recorder() == placed.comm().flight_recorder()) {
    config->mutable_comm()->clear_flight_recorder();
  }
}

}  // namespace

void PrepareRunFolder(const JobConfig& config, bool go_on) {
  const std::string& folder = config.telemetry().run_dir();
  if (folder.empty()) return;
  const std::string& log = config.telemetry().jsonl();
  if (!go_on && IsFile(log) && InputFile(log).size() > 0) {
    ThrowUserError("telemetry.run_dir: ", folder, " holds a run already (", log,
                   "): continue it with --resume, name another folder, or remove this one");
  }
  MakeFolders(folder);
  JobConfig resolved = config;
  resolved.set_net(Absolute(config.net()));
  const auto resolve = [](DataConfig* data) { data->set_source(Absolute(data->source())); };
  resolve(resolved.mutable_train_data());
  if (config.has_validation_data()) resolve(resolved.mutable_validation_data());
  ClearPlaces(&resolved);
  const std::string text = resolved.DebugString();
  const std::string path = folder + "/config.prototxt";
  OutputFile file(path);
  file.Write(text.data(), text.size());
  file.Close();
}

}  // namespace gf
