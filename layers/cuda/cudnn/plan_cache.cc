#include "layers/cuda/cudnn/plan_cache.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "core/error.h"
#include "core/file.h"
#include "core/folder.h"
#include "core/output_file.h"

namespace gf {
namespace {

// The first line of the file; all others are "<choice> <key>".
constexpr char kHeader[] = "gradientflow plans 2";
constexpr int64_t kMostBytes = int64_t{4} << 20;

bool IsKey(const std::string& text) {
  return !text.empty() && text.size() <= PlanCache::kMostKey &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// Parses one line; returns false if its format is wrong.
bool Parse(const std::string& line, std::map<std::string, int>* choices) {
  const size_t space = line.find(' ');
  if (space == 0 || space > 3) return false;
  int choice = 0;
  for (size_t i = 0; i < space; ++i) {
    if (line[i] < '0' || line[i] > '9') return false;
    choice = 10 * choice + (line[i] - '0');
  }
  const std::string key = line.substr(space + 1);
  if (!IsKey(key)) return false;
  choices->emplace(key, choice);
  return true;
}

bool ParseAll(const std::string& text, std::map<std::string, int>* choices) {
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line != kHeader) return false;
  while (std::getline(lines, line)) {
    if (!Parse(line, choices)) return false;
  }
  return true;
}

}  // namespace

std::string PlanCache::DefaultPath() {
  const char* const own = std::getenv("GF_PLAN_CACHE");
  if (own != nullptr) return own;
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  std::string folder;
  if (cache != nullptr && *cache != '\0') {
    folder = cache;
  } else if (home != nullptr && *home != '\0') {
    folder = StrCat(home, "/.cache");
  }
  return folder.empty() ? "" : folder + "/gradientflow/plans.txt";
}

std::optional<int> PlanCache::Find(const std::string& key) {
  if (!read_) {
    read_ = true;
    usable_ = Read();
  }
  const auto it = choices_.find(key);
  if (it == choices_.end()) return std::nullopt;
  return it->second;
}

void PlanCache::Put(const std::string& key, int choice) {
  if (!IsKey(key) || choice < 0 || choice > kMostChoice) return;
  read_ = true;
  usable_ = usable_ && Read();
  choices_[key] = choice;
  if (usable_ && !path_.empty()) Write();
}

bool PlanCache::Read() {
  if (path_.empty() || !Exists(path_)) return true;
  std::map<std::string, int> found;
  try {
    if (ParseAll(ReadSmallFile(path_, kMostBytes), &found)) {
      choices_.insert(found.begin(), found.end());  // choices in memory take precedence
      return true;
    }
  } catch (const UserError&) {
  }
  PrintWarning(path_,
               " is not a plan cache, or is damaged, and is ignored. Remove it, or set "
               "GF_PLAN_CACHE to another file");
  return false;
}

void PlanCache::Write() const {
  std::string text = StrCat(kHeader, "\n");
  for (const auto& [key, choice] : choices_) text += StrCat(choice, " ", key, "\n");
  try {
    MakeFolders(ParentFolder(path_));
    ReplaceFile(path_, text, Durability::kUnsynced);
  } catch (const UserError&) {
    // The next process measures again.
  }
}

}  // namespace gf
