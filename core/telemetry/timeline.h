#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace gf {

// Steps first .. last, both included; by default none.
struct StepRange {
  int64_t first = 0, last = -1;
};

// What --timeline_steps says: "100:110" (both included) or "100". Throws UserError for anything
// else, for negative steps and for a last step before the first.
StepRange ParseStepRange(const std::string& text);

// The lanes of a rank, from top to bottom. Other lanes are allowed and come below these, in the
// order in which they appear.
namespace lane {
inline constexpr char kForward[] = "forward";
inline constexpr char kBackward[] = "backward";
inline constexpr char kBucketWait[] = "bucket wait";
inline constexpr char kBucketTransfer[] = "bucket transfer";
inline constexpr char kUpdate[] = "update";
inline constexpr char kDataWait[] = "data wait";
inline constexpr char kCheckpoint[] = "checkpoint";
inline constexpr char kValidation[] = "validation";
}  // namespace lane

// What one rank did when, in some steps: spans of time in lanes, as trace events that Perfetto and
// chrome://tracing show. Safe to use from several threads. In other steps a call costs one relaxed
// atomic load; who has args to build asks active() first.
class Timeline {
 public:
  using Clock = std::chrono::steady_clock;
  using TimePoint = Clock::time_point;
  // Names and values that a viewer shows for an event.
  using Args = std::vector<std::pair<std::string, int64_t>>;

  // Later events are counted, not kept, so that a long range of steps cannot fill the memory.
  static constexpr size_t kMaxEvents = 1 << 18;

  // `host`: name of the machine that `rank` runs on.
  Timeline(int rank, std::string host, StepRange steps);
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  // What is added from now on belongs to this step. Called by one thread.
  void SetStep(int64_t step);
  int64_t step() const { return step_; }
  bool active() const { return active_.load(std::memory_order_relaxed); }

  // Records begin .. end if the step is one of those chosen. The step is added to args.
  void Add(std::string_view lane, std::string_view name, TimePoint begin, TimePoint end,
           const Args& args = {}) {
    if (active()) Record(step_, lane, name, begin, end, args);
  }

  // Whether a step is one of those chosen; for what is known of it only later.
  bool Chosen(int64_t step) const { return step >= steps_.first && step <= steps_.last; }
  void AddTo(int64_t step, std::string_view lane, std::string_view name, TimePoint begin,
             TimePoint end, const Args& args = {}) {
    if (Chosen(step)) Record(step, lane, name, begin, end, args);
  }

  // Records its own lifetime; belongs to the step in which it began.
  class Span {
   public:
    // A null timeline records nothing; `timeline` outlives the span.
    Span(Timeline* timeline, std::string_view lane, std::string_view name)
        : timeline_(timeline != nullptr && timeline->active() ? timeline : nullptr) {
      if (timeline_ != nullptr) Begin(lane, name);
    }
    ~Span() {
      if (timeline_ != nullptr) End();
    }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    void Begin(std::string_view lane, std::string_view name);
    void End();

    Timeline* const timeline_;
    int64_t step_ = 0;
    std::string lane_, name_;
    TimePoint begin_;
  };

  // This rank's events so far, as a trace of its own. Spans of a lane that overlap without one
  // containing the other are spread over rows ("bucket wait", "bucket wait (2)", ...), because
  // viewers drop such spans within a row.
  std::string Json() const;

 private:
  struct Event {
    int64_t step;
    std::string lane, name;
    int64_t begin_ns, end_ns;  // since 1970
    Args args;
  };

  void Record(int64_t step, std::string_view lane, std::string_view name, TimePoint begin,
              TimePoint end, const Args& args);
  int64_t UnixNs(TimePoint time) const;

  const int rank_;
  const std::string host_;
  const StepRange steps_;
  const int64_t unix_offset_ns_;  // system clock - steady clock
  std::atomic<bool> active_{false};
  std::atomic<int64_t> step_{-1};

  mutable std::mutex mutex_;
  std::vector<Event> events_;
  int64_t dropped_ = 0;
};

// One trace from the Json() of several ranks; its time 0 is the first event of any rank. Ranks of
// one host line up exactly, hosts as well as their clocks agree. Empty texts are left out.
std::string MergeTimelines(const std::vector<std::string>& ranks);

}  // namespace gf
