#include "solvers/report/run_folder.h"

#include <filesystem>

#include "core/error.h"
#include "core/file.h"
#include "core/folder.h"
#include "core/folder_lock.h"
#include "core/output_file.h"

namespace gf {
namespace {

std::string InRunFolder(const JobConfig& config, const std::string& name) {
  const std::string& folder = config.telemetry().run_dir();
  return folder.empty() ? name : folder + "/" + name;
}

std::string Absolute(const std::string& path) { return std::filesystem::absolute(path).string(); }

}  // namespace

std::string LogPath(const JobConfig& config) {
  const TelemetryConfig& telemetry = config.telemetry();
  const bool placed = !telemetry.has_jsonl() && !telemetry.run_dir().empty();
  return placed ? InRunFolder(config, "log.jsonl") : telemetry.jsonl();
}

std::string TimelinePath(const JobConfig& config) { return InRunFolder(config, "timeline.json"); }

std::string FlightRecorderPrefix(const JobConfig& config) {
  const std::string& prefix = config.comm().flight_recorder();
  return config.comm().has_flight_recorder() ? prefix : InRunFolder(config, prefix);
}

FileDescriptor PrepareRunFolder(const JobConfig& config, bool go_on, double patience_s) {
  const std::string& folder = config.telemetry().run_dir();
  if (folder.empty()) return FileDescriptor();
  const std::string log = LogPath(config);
  const auto check = [&] {
    if (go_on || !IsFile(log) || InputFile(log).size() == 0) return;
    ThrowUserError("telemetry.run_dir: ", folder, " holds a run already (", log,
                   "): continue it with --resume, name another folder, or remove this one");
  };
  check();
  MakeFolders(folder);
  FileDescriptor lock;
  try {
    lock = LockFolder(folder, patience_s);
  } catch (const UserError& error) {
    ThrowUserError("telemetry.run_dir: ", error.what());
  }
  check();  // the log of a run that has ended meanwhile
  JobConfig resolved = config;
  resolved.mutable_telemetry()->clear_run_dir();
  resolved.set_net(Absolute(config.net()));
  const auto resolve = [](DataConfig* data) {
    data->set_source(Absolute(data->source()));
    if (!data->mean_file().empty()) data->set_mean_file(Absolute(data->mean_file()));
  };
  resolve(resolved.mutable_train_data());
  if (config.has_validation_data()) resolve(resolved.mutable_validation_data());
  ReplaceFile(folder + "/config.prototxt", resolved.DebugString());
  return lock;
}

}  // namespace gf
