#include "comm/failure/last_words.h"

#include <cstdio>

#include "core/error.h"

namespace gf {

void LastWords::Guard(const std::string& prefix) {
  const std::lock_guard<std::mutex> lock(mutex_);
  prefix_ = prefix;
  guarded_ = true;
}

std::string LastWords::prefix() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return prefix_;
}

std::string LastWords::Write(int rank, const std::string& host, const std::string& reason) {
  const std::string prefix = this->prefix();
  if (prefix.empty()) return "";
  const std::string path = FlightRecorderPath(prefix, rank);
  const std::lock_guard<std::mutex> lock(writing_);
  return recorder_.Write(path, rank, host, reason) ? "; see " + path : "";
}

void LastWords::Suspect(int rank, const std::string& host, const std::string& suspicion) {
  PrintRemark(suspicion + Write(rank, host, suspicion));
  suspected_ = true;
}

void LastWords::EndedWell(int rank) {
  if (!suspected_) return;
  const std::string prefix = this->prefix();
  if (!prefix.empty()) std::remove(FlightRecorderPath(prefix, rank).c_str());
}

}  // namespace gf
