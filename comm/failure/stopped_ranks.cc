#include "comm/failure/stopped_ranks.h"

#include <dirent.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

#include "core/error.h"

namespace gf {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The value of NAME in /proc/<pid>/environ; empty if it is not there.
std::string Variable(const std::string& environ, const std::string& name) {
  const std::string key = '\0' + name + '=';
  const size_t at = ('\0' + environ).find(key);
  return at == std::string::npos ? "" : std::string(environ.c_str() + at + key.size() - 1);
}

// From "4711 (name) T ...", where the name may hold anything.
bool IsStopped(const std::string& stat) {
  const size_t end = stat.rfind(')');
  if (end == std::string::npos || end + 2 >= stat.size()) return false;
  return stat[end + 2] == 'T' || stat[end + 2] == 't';
}

// Ranks started together share it.
constexpr char kJob[] = "PMIX_NAMESPACE", kRank[] = "PMIX_RANK";

}  // namespace

std::string StoppedRanks() {
  const char* const job = std::getenv(kJob);
  DIR* const processes = opendir("/proc");
  if (job == nullptr || processes == nullptr) {
    if (processes != nullptr) closedir(processes);
    return "";
  }
  std::map<int, std::string> stopped;
  while (const dirent* const entry = readdir(processes)) {
    const std::string pid = entry->d_name;
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string folder = "/proc/" + pid;
    if (!IsStopped(ReadFile(folder + "/stat"))) continue;
    const std::string environ = ReadFile(folder + "/environ");
    const std::string rank = Variable(environ, kRank);
    if (rank.empty() || Variable(environ, kJob) != job) continue;
    stopped[std::atoi(rank.c_str())] = pid;
  }
  closedir(processes);
  std::string text;
  for (const auto& [rank, pid] : stopped) {
    text += StrCat(text.empty() ? "; stopped on this host: " : ", ", "rank ", rank, " (process ",
                   pid, ")");
  }
  return text;
}

int LaunchedRank() {
  const char* const rank = std::getenv(kRank);
  return rank == nullptr ? -1 : std::atoi(rank);
}

}  // namespace gf
