#pragma once

#include <map>
#include <optional>
#include <string>

namespace gf {

// Which of several ways to compute something was the fastest, kept in a text file from process to
// process. A choice is only a hint: who takes it must check that it works. A file that is missing
// is made; one that is not of this kind is said, left alone and not used. Errors of the file system
// cost the memory of choices, nothing else. For one thread.
class PlanCache {
 public:
  // The largest choice, and the longest key, that is kept.
  static constexpr int kMostChoice = 999;
  static constexpr size_t kMostKey = 500;

  // $GF_PLAN_CACHE (empty: no file), else gradientflow/plans.txt in $XDG_CACHE_HOME or ~/.cache.
  static std::string DefaultPath();

  // `path` empty: nothing is kept. The file is read at the first Find or Put.
  explicit PlanCache(std::string path) : path_(std::move(path)) {}

  std::optional<int> Find(const std::string& key);

  // Remembers a choice; the file is replaced as a whole, with what other processes have added.
  void Put(const std::string& key, int choice);

 private:
  // Adds the file's choices to those in memory. False if it is not to be written over.
  bool Read();
  void Write() const;

  const std::string path_;
  bool read_ = false, usable_ = true;
  std::map<std::string, int> choices_;
};

}  // namespace gf
