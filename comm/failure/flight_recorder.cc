#include "comm/failure/flight_recorder.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <exception>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/error.h"
#include "core/output_file.h"

namespace gf {
namespace {

using nlohmann::ordered_json;

constexpr auto kLongestWait = std::chrono::milliseconds(100);
constexpr size_t kUsualLabel = 128;

// std::timed_mutex would do the same with a slower lock on the hot path.
bool TryLockUntil(std::unique_lock<std::mutex>* lock,
                  std::chrono::steady_clock::time_point deadline) {
  while (!lock->try_lock()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

std::string Dump(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace

FlightRecorder::FlightRecorder()
    : start_(Clock::now()), wall_start_(std::chrono::system_clock::now()) {
  for (Record& record : records_) record.label.reserve(kUsualLabel);
}

int64_t FlightRecorder::Queue(const CollectiveInfo& info) {
  const int64_t sequence = next_.fetch_add(1);
  Record& record = records_[sequence % kRecords];
  const std::lock_guard<std::mutex> lock(record.mutex);
  // A thread that was suspended in between does not overwrite a later round.
  if (record.sequence > sequence) return sequence;
  record.sequence = sequence;
  record.state = State::kQueued;
  record.bytes = info.bytes;
  record.label = info.label;
  record.algorithm = info.algorithm;
  record.type = info.type;
  record.wire_type = info.wire_type;
  record.error.clear();
  record.enqueued = Clock::now();
  record.started = record.ended = {};
  return sequence;
}

template <typename Change>
void FlightRecorder::Update(int64_t sequence, const Change& change) {
  if (sequence < 0) return;
  Record& record = records_[sequence % kRecords];
  const std::lock_guard<std::mutex> lock(record.mutex);
  if (record.sequence != sequence) return;
  if (record.state == State::kDone || record.state == State::kFailed) return;
  change(&record);
}

void FlightRecorder::Start(int64_t sequence) {
  Update(sequence, [](Record* record) {
    if (record->state == State::kRunning) return;
    record->state = State::kRunning;
    record->started = Clock::now();
  });
}

void FlightRecorder::End(int64_t sequence) {
  Update(sequence, [](Record* record) {
    record->state = State::kDone;
    record->ended = Clock::now();
  });
}

void FlightRecorder::Fail(int64_t sequence, std::string_view message) {
  Update(sequence, [&](Record* record) {
    record->state = State::kFailed;
    record->ended = Clock::now();
    record->error = message;
  });
}

double FlightRecorder::Seconds(Clock::time_point time) const {
  return std::round(std::chrono::duration<double, std::micro>(time - start_).count()) / 1e6;
}

// UTC, "2026-01-31T12:34:56.789012Z".
std::string FlightRecorder::WallTime(Clock::time_point time) const {
  const auto wall = wall_start_.time_since_epoch() + (time - start_);
  const int64_t us = std::chrono::duration_cast<std::chrono::microseconds>(wall).count();
  const std::time_t seconds = us / 1000000;
  std::tm utc = {};
  gmtime_r(&seconds, &utc);
  char text[40];
  const size_t length = std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text + length, sizeof(text) - length, ".%06dZ", static_cast<int>(us % 1000000));
  return text;
}

ordered_json FlightRecorder::Describe(const Record& record) const {
  const char* const kStates[] = {"queued", "running", "done", "failed"};
  ordered_json json = {
      {"sequence", record.sequence},  {"state", kStates[static_cast<int>(record.state)]},
      {"label", record.label},        {"algorithm", record.algorithm},
      {"bytes", record.bytes},        {"type", record.type},
      {"wire_type", record.wire_type}};
  const auto add_time = [&](const std::string& name, Clock::time_point time) {
    const bool happened = time != Clock::time_point();
    json[name + "_s"] = happened ? ordered_json(Seconds(time)) : ordered_json(nullptr);
    json[name + "_at"] = happened ? ordered_json(WallTime(time)) : ordered_json(nullptr);
  };
  add_time("enqueued", record.enqueued);
  add_time("started", record.started);
  add_time("ended", record.ended);
  if (record.state == State::kFailed) json["error"] = record.error;
  return json;
}

std::string FlightRecorder::Json(int rank, const std::string& host,
                                 const std::string& reason) const {
  const Clock::time_point now = Clock::now();
  const auto deadline = now + kLongestWait;
  const int64_t next = next_.load();
  ordered_json header = {{"rank", rank},
                         {"host", host},
                         {"reason", reason},
                         {"written_s", Seconds(now)},
                         {"written_at", WallTime(now)},
                         {"queued_in_all", next}};
  std::string text = Dump(header);
  text.back() = ',';
  text += "\n\"collectives\":[";
  const char* separator = "\n";
  for (int64_t sequence = std::max<int64_t>(0, next - kRecords); sequence < next; ++sequence) {
    const Record& record = records_[sequence % kRecords];
    std::unique_lock<std::mutex> lock(record.mutex, std::defer_lock);
    ordered_json json = {{"sequence", sequence}, {"state", "locked"}};
    if (TryLockUntil(&lock, deadline)) {
      // Otherwise its thread is just about to fill it, or has begun the next round.
      if (record.sequence != sequence) continue;
      json = Describe(record);
    }
    text += separator + Dump(json);
    separator = ",\n";
  }
  return text + "\n]}\n";
}

bool FlightRecorder::Write(const std::string& path, int rank, const std::string& host,
                           const std::string& reason) const {
  try {
    // The process has a second before mpirun kills it: no time to wait for the disk.
    ReplaceFile(path, Json(rank, host, reason), Durability::kUnsynced);
    return true;
  } catch (const std::exception& error) {
    PrintRemark(StrCat("the flight recorder of rank ", rank, " is lost: ", error.what()));
    return false;
  }
}

std::string FlightRecorderPath(const std::string& prefix, int rank) {
  return prefix + ".rank" + std::to_string(rank) + ".json";
}

}  // namespace gf
