#include "solvers/checkpoint/checkpoint.h"

#include <xxhash.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/config/config.h"
#include "core/error.h"
#include "core/file.h"
#include "core/folder.h"
#include "core/host_copy.h"
#include "core/output_file.h"
#include "core/printable.h"
#include "solvers/checkpoint/pool_file.h"
#include "solvers/checkpoint/strict_json.h"

namespace gf {

const char kWeightsFile[] = "weights.safetensors";
const char kChunksFile[] = "chunks.safetensors";
const char kNetFile[] = "net.prototxt";
const char kMeanFile[] = "mean.binaryproto";

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
// { "files": { "name": { } } }
constexpr int kMaxNesting = 3;

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

// The state.json of a checkpoint as an object, its own checksum checked and removed.
json ReadStateFile(const std::string& folder) {
  const std::string file = folder + "/" + kStateFile;
  if (IsFolder(folder) && !IsFile(file)) {
    ThrowUserError(folder, ": not a checkpoint, it has no ", kStateFile,
                   " (a checkpoint is a folder step-* of checkpoint.dir)");
  }
  std::string mistake;
  json root = ParseStrictly<json>(ReadSmallFile(file, kMaxStateBytes), kMaxNesting, &mistake);
  if (!mistake.empty()) ThrowUserError(file, ": ", mistake, ": incomplete or damaged");
  const auto format = Get<int64_t>(root, "format", file);
  if (format != kFormat) {
    ThrowUserError(file, ": checkpoint format ", format, ", this program reads format ", kFormat,
                   ": use the version of the program that wrote it");
  }
  const auto expected = Get<std::string>(root, "xxh3", file);
  root.erase("xxh3");
  if (HashText(JsonText(root)) != expected)
    ThrowUserError(file, ": its checksum is wrong: damaged; resume from another checkpoint");
  return root;
}

// A state under another step's name is a copy or a forgery, and would be continued as that step.
void CheckName(const std::string& folder, int64_t step) {
  const std::string name =
      std::filesystem::path(folder + "/").lexically_normal().parent_path().filename().string();
  const int64_t expected = StepOfName(name);
  if (expected < 0 || expected == step) return;
  ThrowUserError(folder, "/", kStateFile, ": step is ", step, ", expected ", expected,
                 ", the number in the folder's name: the file is damaged or of another checkpoint");
}

// Weights that are not finite must not replace good ones.
void CheckFinite(const ParameterStore& store, const Tensor& pool, const PoolLayout& layout) {
  const HostCopy copy(store.device(), pool);
  const float* values = copy.tensor().as<float>();
  for (const PoolEntry& entry : layout.entries()) {
    for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
      if (!std::isfinite(values[i])) {
        ThrowUserError(entry.name, " is not finite (", values[i],
                       "): training has diverged; lower solver.base_lr");
      }
    }
  }
}

void CheckFinite(const ParameterStore& store) {
  CheckFinite(store, store.master(), store.layout());
  CheckFinite(store, store.states(), store.state_layout());
}

}  // namespace

int64_t StepOfName(const std::string& name) {
  constexpr size_t kPrefix = 5;
  if (name.compare(0, kPrefix, "step-") != 0) return -1;
  const std::string digits = name.substr(kPrefix);
  if (digits.size() < 8 || digits.size() > 18 ||
      digits.find_first_not_of("0123456789") != std::string::npos) {
    return -1;
  }
  return std::stoll(digits);
}

void WriteCheckpointFiles(const std::string& folder, const TrainingState& state,
                          const ParameterStore& store, const Solver& solver,
                          const ExtraFiles& extra) {
  const ParameterStore& used = store.average() ? *store.average() : store;
  CheckFinite(store);
  if (&used != &store) CheckFinite(used);
  json root;
  root["format"] = kFormat;
  root.update(ToJson(state));
  root["files"][kWeightsFile] =
      ToJson(WritePoolFile(folder + "/" + kWeightsFile, store, WeightTensors(used), state.step));
  root["files"][kOptimizerFile] =
      ToJson(WritePoolFile(folder + "/" + kOptimizerFile, store,
                           OptimizerTensors(store, solver, store.average() != nullptr), -1));
  if (state.prediction_files) {
    for (const auto& [name, content] : *state.prediction_files) {
      HashedFile prediction_file(folder + "/" + name);
      prediction_file.Write(content.data(), content.size());
      root["files"][name] = ToJson(prediction_file.Finish());
    }
  }
  for (const auto& file : extra) root["files"][file.first] = ToJson(file.second);
  // Names and texts that are not UTF-8 were replaced in the dump: hash what will be read.
  root = json::parse(JsonText(root));
  root["xxh3"] = HashText(JsonText(root));
  OutputFile file(folder + "/" + kStateFile);
  file.Write(JsonText(root) + "\n");
  file.Close();
}

TrainingState ReadState(const std::string& folder) {
  return StateFromJson(ReadStateFile(folder), folder + "/" + kStateFile);
}

bool RecordsFile(const std::string& folder, const std::string& name) {
  return Get<json>(ReadStateFile(folder), "files", folder + "/" + kStateFile).contains(name);
}

TrainingState VerifyCheckpoint(const std::string& folder, CheckpointUse use) {
  const std::string file = folder + "/" + kStateFile;
  const json root = ReadStateFile(folder);
  const TrainingState state = StateFromJson(root, file);
  CheckName(folder, state.step);
  std::vector<std::string> names = {kWeightsFile};
  if (use == CheckpointUse::kTraining) {
    names.emplace_back(kOptimizerFile);
    if (state.residual_ranks > 0) names.emplace_back(kChunksFile);
    for (int rank = 0; rank < state.residual_ranks; ++rank) names.push_back(ResidualFile(rank));
  }
  const json files = Get<json>(root, "files", file);
  for (const char* name : {kNetFile, kMeanFile}) {
    if (files.contains(name)) names.emplace_back(name);
  }
  for (const std::string& name : names) {
    const json record = Get<json>(files, name.c_str(), file);
    const FileDigest digest = DigestFile(folder + "/" + name);
    const auto bytes = Get<uint64_t>(record, "bytes", file);
    if (digest.bytes != bytes) {
      ThrowUserError(folder, "/", name, ": has ", digest.bytes, " bytes, expected ", bytes,
                     ": incomplete; resume from another checkpoint");
    }
    if (HashName(digest.hash) != Get<std::string>(record, "xxh3", file)) {
      ThrowUserError(folder, "/", name, ": its checksum is wrong: damaged");
    }
  }
  return state;
}

namespace {

// Throws UserError if the optimizer's file lacks a tensor of a trained parameter, or has one of a
// parameter that is frozen now.
void CheckSameFreeze(const std::string& folder, const ParameterStore& store, const Solver& solver) {
  const SafetensorsReader file(folder + "/" + kOptimizerFile);
  std::vector<std::string> trained, frozen;
  for (const auto& state : solver.State()) {
    for (const PoolEntry& entry : store.layout().entries()) {
      if (file.Find(state.first + "/" + entry.name) == nullptr) trained.push_back(entry.name);
    }
    for (const PoolEntry& entry : store.frozen_layout().entries()) {
      if (file.Find(state.first + "/" + entry.name) != nullptr) frozen.push_back(entry.name);
    }
  }
  if (trained.empty() && frozen.empty()) return;
  ThrowUserError(folder, ": was written with another freeze: ",
                 trained.empty() ? StrCat("it trained ", SomeNames(frozen))
                                 : StrCat("it did not train ", SomeNames(trained)),
                 ": set freeze as it was, or start from its weights alone with --weights=", folder);
}

// Whether the job that wrote the checkpoint had solver.average; false for a config of a version
// with other fields, which this version cannot read.
bool Averages(const TrainingState& state) {
  JobConfig job;
  try {
    ParseTextProto(state.config, "the checkpoint's config", &job);
  } catch (const UserError&) {
    return false;
  }
  return job.solver().average().decay() > 0;
}

}  // namespace

TrainingState LoadCheckpoint(const std::string& folder, const std::string& solver_type,
                             ParameterStore* store, const Solver* solver) {
  TrainingState state = VerifyCheckpoint(
      folder, solver != nullptr ? CheckpointUse::kTraining : CheckpointUse::kPrediction);
  if (solver != nullptr && state.solver != solver_type) {
    ThrowUserError(folder, ": was written by solver ", Excerpt(state.solver),
                   ", but the config says ", solver_type,
                   ": set solver.type, or start from its weights alone with --weights=", folder,
                   "/", kWeightsFile);
  }
  LoadWeights(folder + "/" + kWeightsFile, store);
  if (store->average()) LoadWeights(folder + "/" + kWeightsFile, store->average().get());
  if (solver != nullptr) {
    CheckSameFreeze(folder, *store, *solver);
    const std::string file = folder + "/" + kOptimizerFile;
    const bool trained_weights = HasTrainedWeights(SafetensorsReader(file));
    if (!trained_weights && Averages(state)) {
      ThrowUserError(file, ": has no trained weights (weights/...), expected those of a job with ",
                     "solver.average: the file is damaged; resume from another checkpoint, or "
                     "start from the average with --weights=",
                     folder);
    }
    ReadPoolFile(file, OptimizerTensors(*store, *solver, trained_weights), store,
                 /*learned=*/true);
    store->SyncCompute();
  }
  return state;
}

bool CheckpointHasAverage(const std::string& folder) {
  return HasTrainedWeights(SafetensorsReader(folder + "/" + kOptimizerFile));
}

uint64_t CheckpointBytes(const ParameterStore& store, const Solver& solver) {
  uint64_t values = 0;
  for (const PoolTensor& tensor : WeightTensors(store)) values += tensor.entry->shape.count();
  for (const PoolTensor& tensor : OptimizerTensors(store, solver, store.average() != nullptr)) {
    values += tensor.entry->shape.count();
  }
  return values * sizeof(float) + (uint64_t{1} << 16);
}

}  // namespace gf
