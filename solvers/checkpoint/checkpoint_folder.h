#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/file_descriptor.h"
#include "solvers/checkpoint/checkpoint.h"

namespace gf {

// The folder of one job's checkpoints: DIR/step-00001234/. A checkpoint is written under a
// hidden name, synced and renamed, so it is there completely or not at all. Used by one rank.
class CheckpointFolder {
 public:
  // Looks at nothing yet. `keep`: how many checkpoints remain (0 = all).
  CheckpointFolder(const std::string& path, int keep);
  // Removes the folders that Prepare has created and locked if nothing was written into them.
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  // Before training: creates the folder, claims it for this process (waits half a minute
  // for a run that is just ending), tries whether it can be written, compares the free space with
  // `checkpoint_bytes`, and removes what dead runs left. Throws UserError.
  void Prepare(uint64_t checkpoint_bytes);
  // Compares the free space alone; after Prepare. Throws UserError.
  void CheckRoom(uint64_t checkpoint_bytes) const;
  // How many seconds Prepare waits for another run to end.
  void SetPatience(double seconds) { patience_s_ = seconds; }

  // Runs body(folder), which writes files of the checkpoint of this step into a hidden folder
  // before Write. Throws UserError like Write.
  void Stage(int64_t step, const std::function<void(const std::string& folder)>& body);

  // The folder of the undamaged checkpoint of this step, "" if there is none.
  std::string Find(int64_t step) const;

  // Writes a checkpoint and returns its folder; then removes the oldest beyond `keep`. `extra`:
  // the staged files. With `spare_residuals` the newest undamaged checkpoint that has residuals is
  // not removed. Throws UserError, with older checkpoints untouched and nothing left behind.
  std::string Write(const TrainingState& state, const ParameterStore& store, const Solver& solver,
                    const ExtraFiles& extra = {}, bool spare_residuals = false);

 private:
  void Prune(int64_t newest_step, bool spare_residuals);
  void Discard(const std::string& name);

  std::string path_;
  int keep_;
  double patience_s_ = 30;
  std::vector<std::string> created_;  // folders that Prepare has created, the deepest first
  FileDescriptor lock_;
};

// A checkpoint found in a folder.
struct FoundCheckpoint {
  std::string path;
  int64_t step = 0;
};

// All complete-looking checkpoints of a folder by ascending step; none if the folder does not
// exist.
std::vector<FoundCheckpoint> ListCheckpoints(const std::string& folder);

// The one of the highest step that is undamaged, "" if there is none. `warn` gets a sentence
// for each that was passed over.
std::string LatestValidCheckpoint(const std::string& folder,
                                  const std::function<void(const std::string&)>& warn,
                                  CheckpointUse use = CheckpointUse::kTraining);

// Whether the folder is not a checkpoint itself but holds some, as checkpoint.dir does.
bool HoldsCheckpoints(const std::string& folder);

// LatestValidCheckpoint of a folder that `setting` names ("checkpoint.dir"). Throws UserError if it
// holds checkpoints and all of them are damaged; `advice` ends the message.
std::string NewestCheckpoint(const std::string& folder, const std::string& setting,
                             const std::string& advice,
                             const std::function<void(const std::string&)>& warn,
                             CheckpointUse use = CheckpointUse::kTraining);

}  // namespace gf
