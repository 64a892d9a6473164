#include "solvers/train/same_job.h"

#include <dnnl.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "comm/agree.h"
#include "comm/consistency.h"
#include "core/config/config.h"
#include "core/config/solver_facts.h"
#include "core/error.h"
#include "core/file.h"
#include "core/file_digest.h"
#include "core/host_copy.h"
#include "core/printable.h"
#include "core/readable.h"
#include "solvers/batch_schedule.h"
#include "solvers/report/config_table.h"

namespace gf {
namespace {

using Items = std::vector<std::pair<std::string, std::string>>;

// A difference is known to all ranks: one of them prints it.
void CheckSame(Communicator* comm, const Items& items) {
  try {
    CheckSameOnAllRanks(comm, items);
  } catch (const UserError& e) {
    throw AgreedError(e.what());
  }
}

// Whether a setting changes what is learned.
bool Matters(const std::string& setting) {
  const std::string comm = "comm.";
  if (StartsWith(setting, "solver.") || StartsWith(setting, "train_data.")) return true;
  // The messages of its modes.
  if (StartsWith(setting, comm) && setting.find('.', comm.size()) != std::string::npos) return true;
  for (const char* field : {"comm.mode", "comm.wire_type", "comm.error_feedback",
                            "comm.sharded_update", "seed", "compute_type"}) {
    if (setting == field) return true;
  }
  return false;
}

// Of all numbers of images' labels; 0 for one class per image.
uint64_t HashLabels(const Loader& data) {
  uint64_t hash = 0;
  if (data.label_type() == LabelConfig::CLASS) return hash;
  std::vector<float> labels;
  for (int64_t i = 0; i < data.size(); ++i) {
    data.Labels(i, &labels);
    hash = XXH3_64bits_withSeed(labels.data(), labels.size() * sizeof(float), hash);
  }
  return hash;
}

BatchSchedule BatchesOf(const JobConfig& config, int world, int64_t images) {
  return {config.solver(), images, int64_t{config.train_data().batch_size()} * world};
}

// Schedules count steps: where a step takes another number of images than it did, it is another
// epoch of the schedule than of the data.
std::string EpochChange(const TrainingState& checkpoint, const BatchSchedule& before,
                        const BatchSchedule& now) {
  const int64_t step = checkpoint.step;
  if (step == 0 || before.ImagesOf(step) == now.ImagesOf(step)) return "";
  const auto images = static_cast<double>(now.images());
  char text[96];
  std::snprintf(text, sizeof(text), "epoch %.2f of the data, but epoch %.2f",
                static_cast<double>(checkpoint.position) / images, now.ImagesIn(step) / images);
  return StrCat("step ", WithCommas(step), " has reached ", text,
                " of this run's schedule: a step ", "takes ", WithCommas(now.ImagesOf(step)),
                " images, before the checkpoint ", WithCommas(before.ImagesOf(step)),
                "; the learning rate and the end of training follow the schedule");
}

}  // namespace

void CheckSameConfig(const JobConfig& config, Communicator* comm) {
  Items items = ConfigTable(config);
  const dnnl_version_t* version = dnnl_version();
  items.emplace_back("the version of oneDNN", StrCat(version->major, ".", version->minor, ".",
                                                     version->patch, " ", version->hash));
  items.emplace_back("the program", HashName(DigestFile("/proc/self/exe").hash));
  CheckSame(comm, items);
}

void CheckSameProducts(const SolverConfig& solver, const Device& device, Communicator* comm) {
  const SolverFacts* const facts = FindSolverFacts(solver.type());
  if (facts == nullptr || facts->norms != SolverFacts::kOfMatrices) return;
  CheckSame(comm, {{StrCat("the device (solver.type ", solver.type(),
                           " needs the same processor or GPU and as many threads on every rank)"),
                    device.Model()}});
}

void CheckSameNet(const NetSource& source, const ParameterStore& store, const Loader& data,
                  const Loader* validation, Communicator* comm) {
  const std::string net = source.param.DebugString();
  Items items = {{"the net", HashName(XXH3_64bits(net.data(), net.size()))}};
  for (const PoolLayout* layout :
       {&store.layout(), &store.frozen_layout(), &store.state_layout()}) {
    int index = 0;
    for (const PoolEntry& entry : layout->entries()) {
      items.emplace_back(
          "parameter " + entry.name,
          StrCat("number ", index++, ", ", entry.shape.ToString(), " ", entry.layout.Name(),
                 ", lr_mult ", entry.lr_mult, ", decay_mult ", entry.decay_mult));
    }
  }
  std::vector<std::pair<const char*, const Tensor*>> pools = {
      {"the checksum of the weights", &store.master()},
      {"the checksum of the frozen weights", &store.frozen_master()}};
  if (store.average()) {
    pools.emplace_back("the checksum of the average weights", &store.average()->master());
  }
  for (const auto& [words, pool] : pools) {
    const HostCopy copy(store.device(), *pool);
    const Tensor& tensor = copy.tensor();
    items.emplace_back(words, HashName(XXH3_64bits(tensor.data, tensor.desc.bytes())));
  }
  items.emplace_back("the number of images", StrCat(data.size()));
  items.emplace_back("the values in train_data.mean_file", HashName(data.mean_file_hash()));
  items.emplace_back("the values in validation_data.mean_file",
                     HashName(validation == nullptr ? 0 : validation->mean_file_hash()));
  items.emplace_back("the labels of the training images", HashName(HashLabels(data)));
  items.emplace_back("the labels of the validation images",
                     HashName(validation == nullptr ? 0 : HashLabels(*validation)));
  std::string classes;
  for (const std::string& name : data.class_names()) classes += name + "\n";
  items.emplace_back("the names of the classes",
                     HashName(XXH3_64bits(classes.data(), classes.size())));
  CheckSame(comm, items);
}

void NoteChanges(const TrainingState& checkpoint, const JobConfig& config, int world, int threads,
                 int64_t images, const std::function<void(const std::string&)>& note) {
  if (checkpoint.world != world) {
    note(StrCat("the checkpoint is from a run on ", Counted(checkpoint.world, "rank"),
                ", this run has ", world,
                ": the data continue where they stopped, but the batches differ"));
  }
  if (checkpoint.threads != threads) {
    note(StrCat("the checkpoint is from a run with ", Counted(checkpoint.threads, "compute thread"),
                " per rank, this run has ", threads, ": the last bits may differ"));
  }
  const int64_t counted = ImagesOf(checkpoint);
  if (counted > 0 && counted != images) {
    note(StrCat("the checkpoint is from a run on ", WithCommas(counted),
                " training images, this run has ", WithCommas(images),
                ": epochs are counted with the new number"));
  }
  JobConfig old_config;
  try {
    ParseTextProto(checkpoint.config, "the checkpoint's config", &old_config);
  } catch (const UserError&) {
    return;
  }
  const std::string epochs =
      EpochChange(checkpoint, BatchesOf(old_config, checkpoint.world, images),
                  BatchesOf(config, world, images));
  if (!epochs.empty()) note(epochs);
  const Items was = ConfigTable(old_config);
  for (const auto& [name, is] : ConfigTable(config)) {
    if (!Matters(name)) continue;
    const auto old = std::find_if(was.begin(), was.end(),
                                  [&name = name](const auto& row) { return row.first == name; });
    const std::string before = old == was.end() ? "not set" : old->second;
    if (before != is) {
      note(StrCat("changed since the checkpoint: ", name, " was ", Excerpt(before), ", is ", is));
    }
  }
}

void NoteClassChanges(const std::vector<std::string>& checkpoint,
                      const std::vector<std::string>& data,
                      const std::function<void(const std::string&)>& note) {
  if (checkpoint.empty() || data.empty() || checkpoint == data) return;
  const auto name = [](const std::vector<std::string>& names, size_t i) {
    return i < names.size() ? StrCat("\"", Printable(names[i]), "\"") : std::string("none");
  };
  size_t i = 0;
  while (i < checkpoint.size() && i < data.size() && checkpoint[i] == data[i]) ++i;
  note(StrCat("changed since the checkpoint: the classes of the training data; class ", i, " was ",
              name(checkpoint, i), ", is ", name(data, i),
              ": the weights know the old ones, so restore them or start again"));
}

}  // namespace gf
