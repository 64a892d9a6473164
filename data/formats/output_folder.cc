#include "data/formats/output_folder.h"

#include <unistd.h>

#include "core/error.h"
#include "core/folder.h"
#include "core/output_file.h"

namespace gf {
namespace {

bool HoldsSomething(const std::string& path) {
  return Exists(path) && (IsLink(path) || !IsFolder(path) || !ListFolder(path).empty());
}

}  // namespace

OutputFolder::OutputFolder(const std::string& path, bool force) : path_(path) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  if (path_.empty()) ThrowUserError("no folder to write to is given");
  if (HoldsSomething(path_) && !force) {
    ThrowUserError(path_,
                   ": exists and is not empty; give another folder, or --force to move it "
                   "aside to ",
                   path_, ".old");
  }
  temporary_ = StrCat(path_, ".tmp-", getpid());
  RemoveAll(temporary_);
  MakeFolders(temporary_);
}

OutputFolder::~OutputFolder() {
  if (!finished_) RemoveQuietly(temporary_);
}

std::string OutputFolder::Finish() {
  CheckInterruption();
  std::string old;
  if (HoldsSomething(path_)) {
    old = path_ + ".old";
    for (int i = 2; HoldsSomething(old); ++i) old = StrCat(path_, ".old", i);
    Rename(path_, old);
  }
  Rename(temporary_, path_);
  finished_ = true;
  SyncFolder(ParentFolder(path_));
  return old;
}

}  // namespace gf
