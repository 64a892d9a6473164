#include "comm/threaded.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <thread>

#include "comm/failure/flight_recorder.h"
#include "comm/failure/stopped_ranks.h"
#include "core/error.h"

namespace gf {
namespace {

constexpr int kPriority = -10;
// How often the idle thread looks for questions of other ranks.
constexpr auto kServeInterval = std::chrono::milliseconds(10);
// Longer than the collective's own deadline by this, so that the better message wins.
constexpr double kGrace_s = 3;
// TellEnd.
constexpr auto kLongestFarewell = std::chrono::seconds(1);

// Without a look at other threads, which may hang while they hold what exit() or stdout need.
[[noreturn]] void EndProcess(
    const std::string& message, const std::function<void()>& before_exit = [] {}) {
  PrintError("communication error", message);
  before_exit();
  std::_Exit(3);
}

CollectiveInfo Info(const char* algorithm, int64_t bytes, const char* type) {
  return {{}, algorithm, bytes, type, type};
}

// Note [How a job ends badly]
// The first error ends everything on this rank. The communication thread writes the flight recorder
// and tells the other ranks, which otherwise would learn of it from their own deadlines or from
// mpirun's signals, which leave no time for a message. Ranks that are told write theirs. Each says
// when it has written its last words and waits a moment for those of the others, because the first
// process that ends makes mpirun kill all. The communication thread ends the process, since the
// main thread may be in something that hangs; only an error of the main thread's own (TellEnd)
// leaves that to it.
class ThreadedCommunicator : public Communicator {
 public:
  ThreadedCommunicator(const std::function<std::unique_ptr<Communicator>()>& make,
                       double start_timeout_s) {
    thread_ = std::thread([this] { Loop(); });
    try {
      const auto start = Post("start", [&](Communicator*) { inner_ = make(); });
      if (!start->WaitFor(start_timeout_s + kGrace_s)) {
        EndProcess(StrCat("rank ", LaunchedRank(), " (host ", HostName(), ") waited ",
                          start_timeout_s + kGrace_s, " s in the start of MPI for other ranks",
                          StoppedRanks(), " (comm.timeout_s: ", start_timeout_s, ")"));
      }
    } catch (...) {
      Stop();
      throw;
    }
    SetRanks(inner_->rank(), inner_->hosts());
    SetTimeout(inner_->timeout_s());
    inner_->ReportTo([this](const std::string& suspicion) {
      PrintRemark(suspicion + WriteFlightRecorder(suspicion));
      written_in_vain_ = true;
    });
  }

  ~ThreadedCommunicator() override {
    // With an exception in flight the process is about to end with an error, and the thread may be
    // waiting for ranks that never come.
    if (std::uncaught_exceptions() > 0) {
      inner_->Cancel();
    } else {
      try {
        // Not by Await, which looks at what goes away here.
        const auto end = Post("end", [this](Communicator*) { inner_.reset(); });
        if (!end->WaitFor(2 * (timeout_s() + kGrace_s))) Stuck(end->label());
      } catch (const std::exception&) {
      }
    }
    Stop();
  }

  void Run(const Collective& collective, const std::string& label) override {
    Await(Start(collective, label).get());
  }

  std::shared_ptr<Pending> Start(const Collective& collective, const std::string& label) override {
    const bool sum = collective.kind == Collective::kAllReduce;
    const std::string algorithm = sum ? collective.algorithm : NameOf(collective.kind);
    const int64_t bytes = collective.count * static_cast<int64_t>(SizeOf(collective.dtype));
    const CollectiveInfo info = {
        {}, algorithm, bytes, Name(collective.dtype), Name(collective.wire)};
    return Post(
        label, [collective, label](Communicator* inner) { inner->Run(collective, label); }, &info);
  }

  void AllReduce(double* values, int64_t count, ReduceOp op, const std::string& label) override {
    Do(
        label, [&](Communicator* inner) { inner->AllReduce(values, count, op, label); },
        Info("allreduce", count * 8, "FP64"));
  }
  void AllReduce(int64_t* values, int64_t count, ReduceOp op, const std::string& label) override {
    Do(
        label, [&](Communicator* inner) { inner->AllReduce(values, count, op, label); },
        Info("allreduce", count * 8, "INT64"));
  }
  std::vector<std::string> AllGather(const std::string& mine, const std::string& label) override {
    std::vector<std::string> all;
    Do(
        label, [&](Communicator* inner) { all = inner->AllGather(mine, label); },
        Info("allgather", static_cast<int64_t>(mine.size()), ""));
    return all;
  }
  void Broadcast(std::string* bytes, int root, const std::string& label) override {
    Do(
        label, [&](Communicator* inner) { inner->Broadcast(bytes, root, label); },
        Info("broadcast", root == rank() ? static_cast<int64_t>(bytes->size()) : 0, ""));
  }
  void Barrier(const std::string& label) override {
    Do(
        label, [&](Communicator* inner) { inner->Barrier(label); }, Info("barrier", 0, ""));
  }
  void Finalize() override {
    Do(
        "end of the job", [](Communicator* inner) { inner->Finalize(); }, Info("barrier", 0, ""));
    if (written_in_vain_) std::remove(FlightRecorderPath(prefix_, rank()).c_str());
  }

  void Guard(const std::string& flight_recorder) override {
    std::lock_guard<std::mutex> lock(mutex_);
    prefix_ = flight_recorder;
    guarded_ = true;
  }

  void WatchSignals(std::function<bool()> asked_to_end) override {
    Await(Post("signals", [&](Communicator* inner) { inner->WatchSignals(asked_to_end); }).get());
  }

  std::string TellEnd(const std::string& reason) override {
    std::unique_lock<std::mutex> lock(mutex_);
    leaving_ = true;
    reason_ = reason;
    changed_.notify_all();
    inner_->Cancel();
    if (changed_.wait_for(lock, kLongestFarewell, [this] { return told_; })) return where_;
    lock.unlock();
    return WriteFlightRecorder(reason);
  }

  void Cancel() override { inner_->Cancel(); }

  void Await(Pending* pending) override {
    int64_t before = inner_ ? inner_->heartbeat() : -1;
    while (!pending->WaitFor(timeout_s() + kGrace_s)) {
      const int64_t now = inner_ ? inner_->heartbeat() : -1;
      if (now == before) Stuck(pending->label());
      before = now;
    }
  }

  void SetActivity(const std::string& activity) override {
    std::lock_guard<std::mutex> lock(mutex_);
    activity_ = activity;
  }

  [[noreturn]] void Abort(int exit_code) override {
    bool told = false;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      told = told_;
    }
    if (told) inner_->Farewell();
    inner_->Abort(exit_code);
    std::_Exit(exit_code);
  }

 private:
  using Body = std::function<void(Communicator*)>;
  struct Task {
    std::shared_ptr<Pending> pending;
    Body body;
    int64_t sequence;  // the recorder's
  };
  // Recorded if there is an info, whose label is `label`.
  std::shared_ptr<Pending> Post(const std::string& label, Body body,
                                const CollectiveInfo* info = nullptr) {
    auto pending = std::make_shared<Pending>(label);
    std::lock_guard<std::mutex> lock(mutex_);
    int64_t sequence = -1;
    if (info != nullptr) {
      CollectiveInfo labelled = *info;
      labelled.label = label;
      sequence = recorder_.Queue(labelled);
    }
    tasks_.push_back({pending, std::move(body), sequence});
    changed_.notify_all();
    return pending;
  }

  void Do(const std::string& label, Body body, const CollectiveInfo& info) {
    Await(Post(label, std::move(body), &info).get());
  }

  // Returns what messages say of it.
  std::string WriteFlightRecorder(const std::string& reason) {
    std::string prefix;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      prefix = prefix_;
    }
    if (prefix.empty()) return "";
    const std::string path = FlightRecorderPath(prefix, inner_->rank());
    const std::string& host = inner_->host();
    return recorder_.Write(path, inner_->rank(), host, reason) ? StrCat("; see ", path) : "";
  }

  // The communication thread does not come back from MPI.
  [[noreturn]] void Stuck(const std::string& label) {
    std::string text = StrCat(RankName(rank(), hosts()), ": the communication thread is stuck in ",
                              label, StoppedRanks(), " (comm.timeout_s: ", timeout_s(), ")");
    text += WriteFlightRecorder(text);
    if (guarded_) EndProcess(text);
    throw CommError(text);
  }

  // On the communication thread, at its first error: see Note [How a job ends badly]. Returns what
  // the other threads get.
  std::exception_ptr Fail(const std::exception_ptr& error, int64_t sequence) {
    std::string reason;
    bool by_other = false;
    try {
      std::rethrow_exception(error);
    } catch (const EndedByOther& e) {
      reason = e.what();
      by_other = true;
    } catch (const CommError& e) {
      reason = e.what();
    } catch (const std::exception& e) {
      recorder_.Fail(sequence, e.what());
      return error;
    }
    recorder_.Fail(sequence, reason);
    if (!inner_) return error;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (leaving_) reason = reason_;
    }
    if (!by_other) {
      try {
        inner_->TellEnd(reason);
      } catch (const CommError&) {
      }
    }
    const std::string where = WriteFlightRecorder(reason);
    std::unique_lock<std::mutex> lock(mutex_);
    where_ = where;
    if (guarded_ && !leaving_) {
      lock.unlock();
      EndProcess(reason + where, [this] { inner_->Farewell(); });
    }
    return std::make_exception_ptr(CommError(reason + where));
  }

  void Loop() {
    prctl(PR_SET_NAME, "communication");
    // Naps are as short as asked for.
    prctl(PR_SET_TIMERSLACK, 1000);
    // Before compute where the system allows it: this thread needs little, but at once, or the link
    // stands still.
    setpriority(PRIO_PROCESS, 0, kPriority);
    std::exception_ptr error;
    std::unique_lock<std::mutex> lock(mutex_);
    const auto fail = [&](int64_t sequence) {
      const auto caught = std::current_exception();
      lock.unlock();
      error = Fail(caught, sequence);
      lock.lock();
    };
    for (;;) {
      if (leaving_ && !told_) {
        if (!error) {
          try {
            throw CommError(reason_);
          } catch (...) {
            fail(-1);
          }
        }
        told_ = true;
        changed_.notify_all();
      }
      if (tasks_.empty()) {
        if (stop_) return;
        changed_.wait_for(lock, kServeInterval, [this] { return !tasks_.empty() || stop_; });
        if (!tasks_.empty() || stop_ || !inner_ || error) continue;
        const std::string activity = activity_;
        lock.unlock();
        try {
          inner_->SetActivity(activity);
          inner_->Serve();
          lock.lock();
        } catch (...) {
          lock.lock();
          fail(-1);
        }
        continue;
      }
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      const std::string activity = activity_;
      lock.unlock();
      if (inner_) inner_->SetActivity(activity);
      task.pending->Begin();
      if (!error) {
        recorder_.Start(task.sequence);
        try {
          task.body(inner_.get());
          recorder_.End(task.sequence);
        } catch (...) {
          error = Fail(std::current_exception(), task.sequence);
        }
      }
      task.pending->End(error);
      lock.lock();
    }
  }

  void Stop() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::string activity_;
  bool stop_ = false;
  FlightRecorder recorder_;
  std::string prefix_;  // of the flight recorder's file
  std::atomic<bool> guarded_{false};
  std::atomic<bool> written_in_vain_{false};
  // This rank ends the job: why, and whether the others have been told.
  bool leaving_ = false, told_ = false;
  std::string reason_;
  std::string where_;  // the flight recorder was written, after an error
  std::unique_ptr<Communicator> inner_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Communicator> NewThreadedCommunicator(
    const std::function<std::unique_ptr<Communicator>()>& make, double start_timeout_s) {
  return std::make_unique<ThreadedCommunicator>(make, start_timeout_s);
}

}  // namespace gf
