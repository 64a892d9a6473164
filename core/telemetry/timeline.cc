#include "core/telemetry/timeline.h"

#include <glog/logging.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"

namespace gf {
namespace {

using nlohmann::ordered_json;

constexpr const char* kLanes[] = {lane::kForward,        lane::kBackward,  lane::kBucketWait,
                                  lane::kBucketTransfer, lane::kUpdate,    lane::kDataWait,
                                  lane::kCheckpoint,     lane::kValidation};

// Microseconds since 1970 of a trace's time 0; absent in a trace without events.
constexpr char kOrigin[] = "origin_unix_us";
constexpr char kDropped[] = "dropped_events";

int64_t Ns(std::chrono::nanoseconds duration) { return duration.count(); }

// System clock minus steady clock, in nanoseconds. A thread may be suspended between two readings:
// the closest pair of several counts.
int64_t UnixOffsetNs() {
  int64_t best = 0, narrowest = INT64_MAX;
  for (int i = 0; i < 8; ++i) {
    const auto before = Timeline::Clock::now().time_since_epoch();
    const auto wall = std::chrono::system_clock::now().time_since_epoch();
    const auto after = Timeline::Clock::now().time_since_epoch();
    if (Ns(after - before) >= narrowest) continue;
    narrowest = Ns(after - before);
    best = Ns(wall) - Ns(before) - narrowest / 2;
  }
  return best;
}

bool ParseStep(std::string_view text, int64_t* step) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), *step);
  return result.ec == std::errc() && result.ptr == text.data() + text.size() && *step >= 0;
}

// Rows of one lane: a span goes into the first row in which it nests into, or comes after,
// everything that is there. Spans come by begin, the longer one first.
class Rows {
 public:
  size_t Place(int64_t begin, int64_t end) {
    for (size_t row = 0; row < open_.size(); ++row) {
      std::vector<int64_t>& ends = open_[row];
      while (!ends.empty() && ends.back() <= begin) ends.pop_back();
      if (!ends.empty() && ends.back() < end) continue;
      ends.push_back(end);
      return row;
    }
    open_.push_back({end});
    return open_.size() - 1;
  }

 private:
  std::vector<std::vector<int64_t>> open_;  // per row, the ends of the spans around `begin`
};

ordered_json Metadata(const char* what, int pid, int tid, ordered_json args) {
  ordered_json event = {{"name", what}, {"ph", "M"}, {"pid", pid}};
  if (tid > 0) event["tid"] = tid;
  event["args"] = std::move(args);
  return event;
}

// A trace with one event per line.
class TraceWriter {
 public:
  void Event(const ordered_json& event) {
    if (!events_.empty()) events_ += ",\n";
    events_ += Dump(event);
  }

  std::string Finish(const ordered_json& other_data) {
    return "{\"displayTimeUnit\":\"ms\",\"otherData\":" + Dump(other_data) +
           ",\"traceEvents\":[\n" + events_ + "\n]}\n";
  }

 private:
  static std::string Dump(const ordered_json& json) {
    return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  }

  std::string events_;
};

}  // namespace

StepRange ParseStepRange(const std::string& text) {
  StepRange range;
  const size_t colon = text.find(':');
  const std::string_view view = text;
  const bool parsed = colon == std::string::npos
                          ? ParseStep(view, &range.first) && ParseStep(view, &range.last)
                          : ParseStep(view.substr(0, colon), &range.first) &&
                                ParseStep(view.substr(colon + 1), &range.last);
  if (!parsed) {
    ThrowUserError("--timeline_steps: \"", text, "\" is not a range of steps: expected FIRST:LAST ",
                   "(both included) or one step, for example 100:110");
  }
  if (range.last < range.first) {
    ThrowUserError("--timeline_steps: the last step of \"", text,
                   "\" comes before the first: write ", range.last, ":", range.first);
  }
  return range;
}

Timeline::Timeline(int rank, std::string host, StepRange steps)
    : rank_(rank), host_(std::move(host)), steps_(steps), unix_offset_ns_(UnixOffsetNs()) {}

void Timeline::SetStep(int64_t step) {
  step_ = step;
  active_ = Chosen(step);
}

int64_t Timeline::UnixNs(TimePoint time) const {
  return Ns(time.time_since_epoch()) + unix_offset_ns_;
}

void Timeline::Record(int64_t step, std::string_view lane, std::string_view name, TimePoint begin,
                      TimePoint end, const Args& args) {
  Event event = {
      step, std::string(lane), std::string(name), UnixNs(begin), UnixNs(std::max(begin, end)),
      args};
  const std::lock_guard<std::mutex> lock(mutex_);
  if (events_.size() < kMaxEvents) {
    events_.push_back(std::move(event));
  } else {
    ++dropped_;
  }
}

void Timeline::Span::Begin(std::string_view lane, std::string_view name) {
  step_ = timeline_->step_;
  lane_ = lane;
  name_ = name;
  begin_ = Clock::now();
}

void Timeline::Span::End() { timeline_->Record(step_, lane_, name_, begin_, Clock::now(), {}); }

std::string Timeline::Json() const {
  std::vector<Event> events;
  ordered_json other_data = ordered_json::object();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    events = events_;
    other_data[kDropped] = dropped_;
  }

  std::map<std::string, int> lanes;
  for (const char* name : kLanes) lanes.emplace(name, static_cast<int>(lanes.size()));
  for (const Event& event : events) lanes.emplace(event.lane, static_cast<int>(lanes.size()));

  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::make_pair(a.begin_ns, -a.end_ns) < std::make_pair(b.begin_ns, -b.end_ns);
  });
  std::vector<Rows> rows(lanes.size());
  std::vector<std::pair<int, size_t>> places;  // lane and row of each event
  std::map<std::pair<int, size_t>, int> tids;  // from top to bottom
  for (const Event& event : events) {
    const int number = lanes.at(event.lane);
    places.emplace_back(number, rows[number].Place(event.begin_ns, event.end_ns));
    tids[places.back()] = 0;
  }
  int last_tid = 0;  // 0 is not a thread of its own for some viewers
  for (auto& [place, tid] : tids) tid = ++last_tid;
  std::vector<std::string> names(lanes.size());
  for (const auto& [name, number] : lanes) names[number] = name;

  TraceWriter trace;
  trace.Event(
      Metadata("process_name", rank_, 0, {{"name", StrCat("rank ", rank_, " (", host_, ")")}}));
  trace.Event(Metadata("process_sort_index", rank_, 0, {{"sort_index", rank_}}));
  for (const auto& [place, tid] : tids) {
    const std::string suffix = place.second == 0 ? "" : StrCat(" (", place.second + 1, ")");
    trace.Event(Metadata("thread_name", rank_, tid, {{"name", names[place.first] + suffix}}));
    trace.Event(Metadata("thread_sort_index", rank_, tid, {{"sort_index", tid}}));
  }
  const int64_t origin_us = events.empty() ? 0 : events[0].begin_ns / 1000;
  if (!events.empty()) other_data[kOrigin] = origin_us;
  for (size_t i = 0; i < events.size(); ++i) {
    Event& event = events[i];
    ordered_json args = ordered_json::object();
    for (const auto& [name, value] : event.args) args[name] = value;
    args["step"] = event.step;
    trace.Event({{"name", std::move(event.name)},
                 {"cat", std::move(event.lane)},
                 {"ph", "X"},
                 {"ts", (event.begin_ns - origin_us * 1000) / 1000.0},
                 {"dur", (event.end_ns - event.begin_ns) / 1000.0},
                 {"pid", rank_},
                 {"tid", tids.at(places[i])},
                 {"args", std::move(args)}});
  }
  return trace.Finish(other_data);
}

std::string MergeTimelines(const std::vector<std::string>& ranks) {
  // Each text is parsed twice, so that only one of them is in memory as objects at a time.
  const auto parse = [](const std::string& text) {
    ordered_json json = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
    CHECK(json.is_object()) << "not a timeline: " << text.substr(0, 200);
    return json;
  };
  int64_t origin_us = INT64_MAX, dropped = 0;
  for (const std::string& text : ranks) {
    if (text.empty()) continue;
    const ordered_json json = parse(text);
    const ordered_json& other_data = json.at("otherData");
    dropped += other_data.at(kDropped).get<int64_t>();
    if (other_data.contains(kOrigin)) {
      origin_us = std::min(origin_us, other_data.at(kOrigin).get<int64_t>());
    }
  }
  TraceWriter trace;
  for (const std::string& text : ranks) {
    if (text.empty()) continue;
    ordered_json json = parse(text);
    const int64_t shift_us = json.at("otherData").value(kOrigin, origin_us) - origin_us;
    for (ordered_json& event : json.at("traceEvents")) {
      if (event.contains("ts")) {
        // In whole nanoseconds, so that the end of a span stays that of the span around it.
        const int64_t ns = std::llround(event["ts"].get<double>() * 1000) + shift_us * 1000;
        event["ts"] = ns / 1000.0;
      }
      trace.Event(event);
    }
  }
  ordered_json other_data = {{kDropped, dropped}};
  if (origin_us != INT64_MAX) other_data[kOrigin] = origin_us;
  return trace.Finish(other_data);
}

}  // namespace gf
