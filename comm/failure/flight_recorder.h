#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace gf {

// What is known of a collective when it is queued. The texts are copied.
struct CollectiveInfo {
  std::string_view label;      // "fc6.weight to fc7.bias, step 12"
  std::string_view algorithm;  // "ring", "barrier", ...
  int64_t bytes = 0;           // of this rank's data, in `type`
  std::string_view type = {};  // "FP32", "INT64", ...; empty where there is none
  std::string_view wire_type = {};
};

// The last collectives of one rank, kept in memory so that a job that ends badly can say how far
// each rank had come. All functions may be called from several threads at once; a record costs two
// or three clock readings and, after the first round, no allocations unless labels get longer.
class FlightRecorder {
 public:
  static constexpr int kRecords = 256;

  FlightRecorder();
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  // A new collective; returns its sequence number, from 0. As all ranks do the same collectives
  // in the same order, equal numbers mean the same collective.
  int64_t Queue(const CollectiveInfo& info);

  // Its first message is about to be sent; it has ended well; it has ended with an error. The
  // first end counts. Numbers that are no longer kept are ignored.
  void Start(int64_t sequence);
  void End(int64_t sequence);
  void Fail(int64_t sequence, std::string_view message);

  // The records, oldest first. `reason`: why they are written ("timeout", an error's text, ...).
  // A record that another thread keeps locked for more than 100 ms in all is given as "locked".
  std::string Json(int rank, const std::string& host, const std::string& reason) const;

  // Replaces the file `path` by Json() (ReplaceFile). Waits for the file system, but for no
  // collective and no other thread. Returns whether it worked. If not, it says so on standard error
  // and throws nothing: the error that led here matters more than this one.
  bool Write(const std::string& path, int rank, const std::string& host,
             const std::string& reason) const;

 private:
  friend class FlightRecorderPeer;  // lets a test keep a record locked

  using Clock = std::chrono::steady_clock;
  enum class State { kQueued, kRunning, kDone, kFailed };

  struct Record {
    mutable std::mutex mutex;
    int64_t sequence = -1;
    State state = State::kQueued;
    int64_t bytes = 0;
    std::string label, algorithm, type, wire_type, error;
    Clock::time_point enqueued, started, ended;  // the epoch where it has not happened
  };

  // Calls change(record) if the record is still kept and has not ended.
  template <typename Change>
  void Update(int64_t sequence, const Change& change);
  nlohmann::ordered_json Describe(const Record& record) const;
  double Seconds(Clock::time_point time) const;
  std::string WallTime(Clock::time_point time) const;

  const Clock::time_point start_;
  const std::chrono::system_clock::time_point wall_start_;
  std::atomic<int64_t> next_{0};
  std::array<Record, kRecords> records_;
};

// "runs/a/flight_recorder" and 3: "runs/a/flight_recorder.rank3.json"
std::string FlightRecorderPath(const std::string& prefix, int rank);

}  // namespace gf
