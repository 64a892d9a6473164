#pragma once

#include <map>
#include <optional>
#include <string>

namespace gf {

// Stores the fastest of several implementations for each key in a text file that later processes
// reuse. A choice is only a hint; the caller must check that it works. A missing file is created. A
// file in another format is reported and ignored, and stays unchanged. File-system errors only lose
// choices. Not thread-safe.
class PlanCache {
 public:
  // Limits on the choices and the length of the keys that are stored.
  static constexpr int kMostChoice = 999;
  static constexpr size_t kMostKey = 500;

  // $GF_PLAN_CACHE (empty: no file), or else gradientflow/plans.txt in $XDG_CACHE_HOME or ~/.cache.
  static std::string DefaultPath();

  // An empty `path` means no file. The file is read at the first Find or Put.
  explicit PlanCache(std::string path) : path_(std::move(path)) {}

  std::optional<int> Find(const std::string& key);

  // Stores a choice. The whole file is replaced, including choices that other processes have added.
  void Put(const std::string& key, int choice);

 private:
  // Adds the file's choices to memory. Returns false if the file must not be overwritten.
  bool Read();
  void Write() const;

  const std::string path_;
  bool read_ = false, usable_ = true;
  std::map<std::string, int> choices_;
};

}  // namespace gf
