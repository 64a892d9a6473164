#include "solvers/checkpoint/checkpoint_folder.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/file.h"
#include "core/folder.h"
#include "core/folder_lock.h"
#include "core/output_file.h"
#include "core/readable.h"

namespace gf {
namespace {

constexpr char kTemporary[] = ".tmp-";
constexpr char kTrash[] = ".trash-";

std::string NameOf(int64_t step) {
  char name[32];
  std::snprintf(name, sizeof(name), "step-%08lld", static_cast<long long>(step));
  return name;
}

// The folders of a path that do not exist, the deepest first.
std::vector<std::string> MissingFolders(const std::string& path) {
  std::vector<std::string> missing;
  for (std::string folder = path; !Exists(folder); folder = ParentFolder(folder)) {
    missing.push_back(folder);
  }
  return missing;
}

// Whether a folder holds the lock at most.
bool IsUnused(const std::string& folder) noexcept {
  try {
    for (const std::string& name : ListFolder(folder)) {
      if (name != kLockFile) return false;
    }
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

// Whether a checkpoint is undamaged and has residuals.
bool HasResiduals(const std::string& path) {
  try {
    return VerifyCheckpoint(path).residual_ranks > 0;
  } catch (const UserError&) {
    return false;
  }
}

}  // namespace

CheckpointFolder::CheckpointFolder(const std::string& path, int keep) : path_(path), keep_(keep) {}

// With the lock, so that no other run begins to use them now.
CheckpointFolder::~CheckpointFolder() {
  if (created_.empty() || !IsUnused(path_)) return;
  unlink((path_ + "/" + kLockFile).c_str());
  for (const std::string& folder : created_) {
    if (rmdir(folder.c_str()) != 0 && errno != ENOENT) return;
  }
}

void CheckpointFolder::Prepare(uint64_t checkpoint_bytes) {
  try {
    std::vector<std::string> missing = MissingFolders(path_);
    MakeFolders(path_);
    lock_ = LockFolder(path_, patience_s_);
    // Another run may be using folders that are not locked.
    if (lock_.get() >= 0) created_ = std::move(missing);
    for (const std::string& name : ListFolder(path_)) {
      if (StartsWith(name, kTemporary) || StartsWith(name, kTrash)) RemoveAll(path_ + "/" + name);
    }
    const std::string probe = path_ + "/" + kTemporary + "probe";
    ReplaceFile(probe, std::string(4096, '\0'));
    RemoveAll(probe);
  } catch (const UserError& e) {
    ThrowUserError("checkpoint.dir: ", e.what());
  }
  CheckRoom(checkpoint_bytes);
}

void CheckpointFolder::CheckRoom(uint64_t checkpoint_bytes) const {
  const uint64_t free = FreeBytes(path_);
  if (free < checkpoint_bytes) {
    ThrowUserError("checkpoint.dir: ", path_, " has ", HumanBytes(free),
                   " of free space, but a checkpoint of this net takes ",
                   HumanBytes(checkpoint_bytes), ": free some space, or choose another folder");
  }
  if (keep_ > 0 && free / (keep_ + 1) < checkpoint_bytes) {
    PrintWarning("checkpoint.dir: ", path_, " has ", HumanBytes(free), " of free space; keeping ",
                 keep_, " checkpoints of ", HumanBytes(checkpoint_bytes),
                 " may fill it (checkpoint.keep)");
  }
}

void CheckpointFolder::Stage(int64_t step,
                             const std::function<void(const std::string& folder)>& body) {
  const std::string temporary = StrCat(path_, "/", kTemporary, NameOf(step), "-", getpid());
  bool older = false;
  try {
    older = !ListCheckpoints(path_).empty();
    MakeFolders(temporary);
    body(temporary);
  } catch (const UserError& e) {
    RemoveQuietly(temporary);
    ThrowUserError("checkpoint of step ", step, " failed: ", e.what(),
                   older ? "; older checkpoints are untouched" : "");
  }
}

std::string CheckpointFolder::Find(int64_t step) const {
  const std::string path = path_ + "/" + NameOf(step);
  try {
    VerifyCheckpoint(path);
    return path;
  } catch (const UserError&) {
    return "";
  }
}

std::string CheckpointFolder::Write(const TrainingState& state, const ParameterStore& store,
                                    const Solver& solver, const ExtraFiles& extra,
                                    bool spare_residuals) {
  const std::string name = NameOf(state.step), target = path_ + "/" + name;
  Stage(state.step, [&](const std::string& temporary) {
    WriteCheckpointFiles(temporary, state, store, solver, extra);
    SyncFolder(temporary);
    // A damaged checkpoint of this step that resuming passed over.
    if (Exists(target)) Discard(name);
    Rename(temporary, target);
    SyncFolder(path_);
  });
  Prune(state.step, spare_residuals);
  return target;
}

// Renames first, so that a half-removed checkpoint never looks like one.
void CheckpointFolder::Discard(const std::string& name) {
  const std::string trash = StrCat(path_, "/", kTrash, name);
  RemoveAll(trash);
  Rename(path_ + "/" + name, trash);
  RemoveAll(trash);
}

void CheckpointFolder::Prune(int64_t newest_step, bool spare_residuals) {
  if (keep_ <= 0) return;
  std::vector<FoundCheckpoint> older;
  for (const FoundCheckpoint& found : ListCheckpoints(path_)) {
    // A folder without a state is no checkpoint of ours: not counted, not removed.
    if (found.step < newest_step && IsFile(found.path + "/state.json")) older.push_back(found);
  }
  const auto excess = older.size() - std::min<size_t>(older.size(), keep_ - 1);
  int64_t spared = -1;  // a step
  for (auto it = older.rbegin(); spare_residuals && spared < 0 && it != older.rend(); ++it) {
    if (HasResiduals(it->path)) spared = it->step;
  }
  for (size_t i = 0; i < excess; ++i) {
    if (older[i].step == spared) continue;
    try {
      Discard(NameOf(older[i].step));
    } catch (const UserError& e) {
      PrintWarning("an old checkpoint could not be removed: ", e.what());
    }
  }
}

std::vector<FoundCheckpoint> ListCheckpoints(const std::string& folder) {
  std::vector<FoundCheckpoint> found;
  if (!Exists(folder)) return found;
  for (const std::string& name : ListFolder(folder)) {
    const int64_t step = StepOfName(name);
    if (step >= 0) found.push_back({folder + "/" + name, step});
  }
  std::sort(found.begin(), found.end(),
            [](const FoundCheckpoint& a, const FoundCheckpoint& b) { return a.step < b.step; });
  return found;
}

std::string LatestValidCheckpoint(const std::string& folder,
                                  const std::function<void(const std::string&)>& warn,
                                  CheckpointUse use) {
  const std::vector<FoundCheckpoint> found = ListCheckpoints(folder);
  for (auto it = found.rbegin(); it != found.rend(); ++it) {
    try {
      VerifyCheckpoint(it->path, use);
      return it->path;
    } catch (const UserError& e) {
      warn(StrCat("checkpoint ", it->path, " is passed over: ", e.what()));
    }
  }
  return "";
}

bool HoldsCheckpoints(const std::string& folder) {
  return IsFolder(folder) && !IsFile(folder + "/state.json") && !ListCheckpoints(folder).empty();
}

std::string NewestCheckpoint(const std::string& folder, const std::string& setting,
                             const std::string& advice,
                             const std::function<void(const std::string&)>& warn,
                             CheckpointUse use) {
  std::string first;
  const auto note = [&](const std::string& text) {
    if (first.empty()) first = text;
    warn(text);
  };
  const std::string path = LatestValidCheckpoint(folder, note, use);
  if (!path.empty()) return path;
  // A new start would overwrite them, and they may be readable elsewhere.
  if (const size_t count = ListCheckpoints(folder).size()) {
    ThrowUserError(setting, ": ", Counted(count, "checkpoint"), " in ", folder,
                   ", and none can be read (", first, "): use the program that wrote them, or ",
                   advice);
  }
  return "";
}

}  // namespace gf
