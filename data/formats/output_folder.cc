#include "data/formats/output_folder.h"

#include <unistd.h>

#include <filesystem>

#include "core/error.h"

namespace gf {
namespace {

namespace fs = std::filesystem;

bool HoldsSomething(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (!fs::exists(status)) return false;
  return !fs::is_directory(status) || !fs::is_empty(path, error);
}

void Rename(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) ThrowUserError(from, ": cannot be renamed to ", to, ": ", error.message());
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
  std::error_code error;
  fs::remove_all(temporary_, error);
  fs::create_directories(temporary_, error);
  if (error) ThrowUserError(temporary_, ": cannot be created: ", error.message());
}

OutputFolder::~OutputFolder() {
  std::error_code error;
  if (!finished_) fs::remove_all(temporary_, error);
}

std::string OutputFolder::Finish() {
  std::string old;
  if (HoldsSomething(path_)) {
    old = path_ + ".old";
    for (int i = 2; HoldsSomething(old); ++i) old = StrCat(path_, ".old", i);
    Rename(path_, old);
  }
  Rename(temporary_, path_);
  finished_ = true;
  return old;
}

}  // namespace gf
