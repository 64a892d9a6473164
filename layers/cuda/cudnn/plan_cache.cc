#include "layers/cuda/cudnn/plan_cache.h"

#include <glog/logging.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/error.h"

namespace gf {
namespace {

namespace fs = std::filesystem;

// The first line of the file; all others are "<choice> <key>".
constexpr char kHeader[] = "gradientflow plans 2";
constexpr size_t kMostBytes = size_t{4} << 20;

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

bool ParseAll(const std::string& path, std::map<std::string, int>* choices) {
  if (!fs::is_regular_file(path) || fs::file_size(path) > kMostBytes) return false;
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || line != kHeader) return false;
  while (std::getline(file, line)) {
    if (!Parse(line, choices)) return false;
  }
  return file.eof();
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
  if (path_.empty()) return true;
  std::error_code error;
  if (fs::status(path_, error).type() == fs::file_type::not_found) return true;
  std::map<std::string, int> found;
  try {
    if (ParseAll(path_, &found)) {
      choices_.insert(found.begin(), found.end());  // choices in memory take precedence
      return true;
    }
  } catch (const std::exception&) {
  }
  LOG(WARNING) << path_ << " is not a plan cache, or is damaged, and is ignored. Remove it, or set "
               << "GF_PLAN_CACHE to another file";
  return false;
}

void PlanCache::Write() const {
  std::error_code error;
  fs::create_directories(fs::path(path_).parent_path(), error);
  const std::string temporary = StrCat(path_, ".", getpid());
  {
    std::ofstream file(temporary, std::ios::trunc);
    file << kHeader << "\n";
    for (const auto& [key, choice] : choices_) file << choice << " " << key << "\n";
    file.flush();
    if (!file) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) fs::rename(temporary, path_, error);
  if (error) fs::remove(temporary, error);
}

}  // namespace gf
