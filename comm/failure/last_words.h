#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "comm/failure/flight_recorder.h"

namespace gf {

// Writes the flight recorder's file when a job ends badly. All functions may be called from several
// threads at once.
class LastWords {
 public:
  FlightRecorder* recorder() { return &recorder_; }

  // Watchdog::Guard.
  void Guard(const std::string& prefix);
  bool guarded() const { return guarded_; }

  // Writes the file. Returns what messages add ("; see a.rank3.json"), or "" if nothing was
  // written.
  std::string Write(int rank, const std::string& host, const std::string& reason);

  // Writes the file on a suspicion, says so on standard error, and withdraws it if the job ends
  // well after all.
  void Suspect(int rank, const std::string& host, const std::string& suspicion);
  void EndedWell(int rank);

 private:
  std::string prefix() const;

  FlightRecorder recorder_;
  mutable std::mutex mutex_;
  std::string prefix_;  // of the file
  std::mutex writing_;  // two writers would share a temporary file
  std::atomic<bool> guarded_{false}, suspected_{false};
};

}  // namespace gf
