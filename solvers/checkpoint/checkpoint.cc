#include "solvers/checkpoint/checkpoint.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file.h"
#include "core/folder.h"
#include "core/host_copy.h"
#include "core/output_file.h"
#include "solvers/checkpoint/pool_file.h"

namespace gf {

const char kWeightsFile[] = "weights.safetensors";
const char kChunksFile[] = "chunks.safetensors";

std::string ResidualFile(int rank) {
  char name[40];
  std::snprintf(name, sizeof(name), "residual-%05d.safetensors", rank);
  return name;
}

namespace {

using json = nlohmann::ordered_json;

constexpr char kOptimizerFile[] = "optimizer.safetensors";
constexpr char kStateFile[] = "state.json";
constexpr int kFormat = 1;
constexpr int64_t kMaxStateBytes = int64_t{4} << 20;
constexpr int64_t kMaxRanks = 1 << 16;

std::string Dump(const json& value) {
  return value.dump(1, ' ', false, json::error_handler_t::replace);
}

std::string HashText(const std::string& text) {
  return HashName(XXH3_64bits(text.data(), text.size()));
}

json ToJson(const FileDigest& digest) {
  return {{"bytes", digest.bytes}, {"xxh3", HashName(digest.hash)}};
}

// A member of state.json of the type of T; throws if it is missing or of another type.
template <typename T>
T Get(const json& object, const char* key, const std::string& file) {
  const auto it = object.find(key);
  bool good = it != object.end();
  if (good) {
    good = std::is_same<T, std::string>::value ? it->is_string()
           : std::is_floating_point<T>::value  ? it->is_number()
           : std::is_same<T, json>::value      ? it->is_object()
                                               : it->is_number_integer();
  }
  if (!good) ThrowUserError(file, ": \"", key, "\" is missing or of the wrong type");
  return it->template get<T>();
}

json ToJson(const TrainingState& state) {
  json root;
  root["step"] = state.step;
  root["updates"] = state.updates;
  root["last_lr"] = state.last_lr;
  root["loss_scale"] = state.loss_scale;
  root["clean_steps"] = state.clean_steps;
  root["position"] = state.position;
  root["epoch"] = state.epoch;
  root["seed"] = state.seed;
  root["world"] = state.world;
  root["threads"] = state.threads;
  root["solver"] = state.solver;
  root["net"] = state.net;
  root["config"] = state.config;
  if (!state.class_names.empty()) root["class_names"] = state.class_names;
  if (state.residual_ranks > 0) root["residual_ranks"] = state.residual_ranks;
  return root;
}

TrainingState FromJson(const json& root, const std::string& file) {
  TrainingState state;
  state.step = Get<int64_t>(root, "step", file);
  state.updates = state.step;
  if (root.contains("updates")) {  // not in older ones
    state.updates = Get<int64_t>(root, "updates", file);
    state.last_lr = Get<double>(root, "last_lr", file);
    state.loss_scale = Get<double>(root, "loss_scale", file);
    state.clean_steps = Get<int64_t>(root, "clean_steps", file);
  }
  state.position = Get<int64_t>(root, "position", file);
  state.epoch = Get<double>(root, "epoch", file);
  state.seed = Get<uint64_t>(root, "seed", file);
  state.world = static_cast<int>(Get<int64_t>(root, "world", file));
  state.threads = static_cast<int>(Get<int64_t>(root, "threads", file));
  state.solver = Get<std::string>(root, "solver", file);
  state.net = Get<std::string>(root, "net", file);
  state.config = Get<std::string>(root, "config", file);
  if (state.step < 0 || state.updates < 0 || state.position < 0) {
    ThrowUserError(file, ": step ", state.step, ", updates ", state.updates, " and position ",
                   state.position, " must not be negative");
  }
  if (root.contains("class_names")) {
    const json& names = root["class_names"];
    if (!names.is_array() || !std::all_of(names.begin(), names.end(),
                                          [](const json& name) { return name.is_string(); })) {
      ThrowUserError(file, ": \"class_names\" is of the wrong type, expected an array of strings");
    }
    state.class_names = names.get<std::vector<std::string>>();
  }
  if (root.contains("residual_ranks")) {
    const auto ranks = Get<int64_t>(root, "residual_ranks", file);
    if (ranks < 1 || ranks > kMaxRanks) {
      ThrowUserError(file, ": residual_ranks is ", ranks, ", expected 1 to ", kMaxRanks);
    }
    state.residual_ranks = static_cast<int>(ranks);
  }
  return state;
}

// The state.json of a checkpoint as an object, its own checksum checked and removed.
json ReadStateFile(const std::string& folder) {
  const std::string file = folder + "/" + kStateFile;
  if (IsFolder(folder) && !IsFile(file)) {
    ThrowUserError(folder, ": not a checkpoint, it has no ", kStateFile,
                   " (a checkpoint is a folder step-* of checkpoint.dir)");
  }
  json root = json::parse(ReadSmallFile(file, kMaxStateBytes), nullptr, false);
  if (!root.is_object()) ThrowUserError(file, ": not a JSON object: incomplete or damaged");
  const auto format = Get<int64_t>(root, "format", file);
  if (format != kFormat) {
    ThrowUserError(file, ": checkpoint format ", format, ", this program reads format ", kFormat,
                   ": use the version of the program that wrote it");
  }
  const auto expected = Get<std::string>(root, "xxh3", file);
  root.erase("xxh3");
  if (HashText(Dump(root)) != expected) ThrowUserError(file, ": its checksum is wrong: damaged");
  return root;
}

// Weights that are not finite must not replace good ones.
void CheckFinite(const ParameterStore& store) {
  const HostCopy master(store.device(), store.master());
  const float* values = master.tensor().as<float>();
  for (const PoolEntry& entry : store.layout().entries()) {
    for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
      if (!std::isfinite(values[i])) {
        ThrowUserError(entry.name, " is not finite (", values[i],
                       "): training has diverged; lower solver.base_lr");
      }
    }
  }
}

}  // namespace

std::string ToText(const TrainingState& state) { return Dump(ToJson(state)); }

TrainingState ParseTrainingState(const std::string& text, const std::string& where) {
  const json root = json::parse(text, nullptr, false);
  if (!root.is_object()) ThrowUserError(where, ": not a JSON object: incomplete or damaged");
  return FromJson(root, where);
}

void WriteCheckpointFiles(const std::string& folder, const TrainingState& state,
                          const ParameterStore& store, const Solver& solver,
                          const ExtraFiles& extra) {
  CheckFinite(store);
  json root;
  root["format"] = kFormat;
  root.update(ToJson(state));
  root["files"][kWeightsFile] =
      ToJson(WritePoolFile(folder + "/" + kWeightsFile, store, WeightTensors(store), state.step));
  root["files"][kOptimizerFile] = ToJson(
      WritePoolFile(folder + "/" + kOptimizerFile, store, OptimizerTensors(store, solver), -1));
  for (const auto& file : extra) root["files"][file.first] = ToJson(file.second);
  // Names and texts that are not UTF-8 were replaced in the dump: hash what will be read.
  root = json::parse(Dump(root));
  root["xxh3"] = HashText(Dump(root));
  OutputFile file(folder + "/" + kStateFile);
  file.Write(Dump(root) + "\n");
  file.Close();
}

TrainingState VerifyCheckpoint(const std::string& folder) {
  const std::string file = folder + "/" + kStateFile;
  const json root = ReadStateFile(folder);
  const TrainingState state = FromJson(root, file);
  std::vector<std::string> names = {kWeightsFile, kOptimizerFile};
  if (state.residual_ranks > 0) names.emplace_back(kChunksFile);
  for (int rank = 0; rank < state.residual_ranks; ++rank) names.push_back(ResidualFile(rank));
  const json files = Get<json>(root, "files", file);
  for (const std::string& name : names) {
    const json record = Get<json>(files, name.c_str(), file);
    const FileDigest digest = DigestFile(folder + "/" + name);
    const auto bytes = Get<uint64_t>(record, "bytes", file);
    if (digest.bytes != bytes) {
      ThrowUserError(folder, "/", name, ": has ", digest.bytes, " bytes, expected ", bytes,
                     ": incomplete");
    }
    if (HashName(digest.hash) != Get<std::string>(record, "xxh3", file)) {
      ThrowUserError(folder, "/", name, ": its checksum is wrong: damaged");
    }
  }
  return state;
}

TrainingState LoadCheckpoint(const std::string& folder, const std::string& solver_type,
                             ParameterStore* store, const Solver* solver) {
  TrainingState state = VerifyCheckpoint(folder);
  if (solver != nullptr && state.solver != solver_type) {
    ThrowUserError(folder, ": was written by solver ", state.solver, ", but the config says ",
                   solver_type,
                   ": set solver.type, or start from its weights alone with --weights=", folder,
                   "/", kWeightsFile);
  }
  LoadWeights(folder + "/" + kWeightsFile, store);
  if (solver != nullptr) {
    ReadPoolFile(folder + "/" + kOptimizerFile, OptimizerTensors(*store, *solver), store);
  }
  return state;
}

uint64_t CheckpointBytes(const ParameterStore& store, const Solver& solver) {
  uint64_t values = 0;
  for (const PoolTensor& tensor : WeightTensors(store)) values += tensor.entry->shape.count();
  for (const PoolTensor& tensor : OptimizerTensors(store, solver)) {
    values += tensor.entry->shape.count();
  }
  return values * sizeof(float) + (uint64_t{1} << 16);
}

}  // namespace gf
