#include "comm/communication_thread.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <utility>

#include "comm/failure/launcher.h"
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

}  // namespace

CommunicationThread::CommunicationThread(const Make& make, double start_timeout_s) {
  thread_ = std::thread([this] { Loop(); });
  try {
    const auto start = Post("start", [&](Communicator*) { Start(make); });
    if (!start->WaitFor(start_timeout_s + kGrace_s)) {
      EndProcess(StrCat("rank ", LaunchedRank(), " (host ", HostName(), ") waited ",
                        start_timeout_s + kGrace_s, " s in the start of MPI for other ranks",
                        StoppedRanks(), " (comm.timeout_s: ", start_timeout_s, ")"));
    }
  } catch (...) {
    Stop();
    throw;
  }
}

CommunicationThread::~CommunicationThread() {
  // With an exception in flight the process is about to end with an error, and the thread may be
  // waiting for ranks that never come.
  if (std::uncaught_exceptions() > 0) {
    Cancel();
  } else {
    try {
      // Not by Await, which looks at the communicator while it goes away.
      const auto end = Post("end", [this](Communicator*) { inner_.reset(); });
      if (!end->WaitFor(2 * (timeout_s_ + kGrace_s))) Stuck(end->label());
    } catch (const std::exception&) {
    }
  }
  Stop();
}

void CommunicationThread::EndProcess(const std::string& message,
                                     const std::function<void()>& farewell) {
  PrintError("communication error", message);
  {
    const std::lock_guard<std::mutex> lock(before_exit_mutex_);
    if (before_exit_) before_exit_();
  }
  farewell();
  EndLauncherLater();
  std::_Exit(3);
}

void CommunicationThread::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

std::shared_ptr<Pending> CommunicationThread::Post(const std::string& label, Body body,
                                                   const CollectiveInfo* info) {
  auto pending = std::make_shared<Pending>(label);
  const std::lock_guard<std::mutex> lock(mutex_);
  int64_t sequence = -1;
  if (info != nullptr) {
    CollectiveInfo labelled = *info;
    labelled.label = label;
    sequence = last_words_.recorder()->Queue(labelled);
  }
  tasks_.push_back({pending, std::move(body), sequence});
  changed_.notify_all();
  return pending;
}

void CommunicationThread::Await(Pending* pending) {
  int64_t before = heartbeat();
  while (!pending->WaitFor(timeout_s_ + kGrace_s)) {
    const int64_t now = heartbeat();
    if (now == before) Stuck(pending->label());
    before = now;
  }
}

void CommunicationThread::Stuck(const std::string& label) {
  std::string text = StrCat(RankName(rank_, hosts_), ": the communication thread is stuck in ",
                            label, StoppedRanks(), " (comm.timeout_s: ", timeout_s_, ")");
  text += WriteLastWords(text);
  if (last_words_.guarded()) EndProcess(text);
  throw CommError(text);
}

void CommunicationThread::SetActivity(const std::string& activity) {
  const std::lock_guard<std::mutex> lock(mutex_);
  activity_ = activity;
}

void CommunicationThread::BeforeExit(std::function<void()> body) {
  const std::lock_guard<std::mutex> lock(before_exit_mutex_);
  before_exit_ = std::move(body);
}

void CommunicationThread::WatchSignals(std::function<bool()> asked_to_end) {
  Await(Post("signals", [&](Communicator* inner) {
          inner->watchdog()->WatchSignals(asked_to_end);
        }).get());
}

std::string CommunicationThread::TellEnd(const std::string& reason) {
  Lock lock(mutex_);
  leaving_ = true;
  reason_ = reason;
  changed_.notify_all();
  Cancel();
  if (changed_.wait_for(lock, kLongestFarewell, [this] { return told_; })) return where_;
  lock.unlock();
  return WriteLastWords(reason);
}

void CommunicationThread::Farewell() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!told_) return;
  }
  inner_->watchdog()->Farewell();
}

void CommunicationThread::Start(const Make& make) {
  inner_ = make();
  rank_ = inner_->rank();
  hosts_ = inner_->hosts();
  timeout_s_ = inner_->timeout_s();
  inner_->watchdog()->ReportTo([this](const std::string& suspicion) {
    last_words_.Suspect(rank_, hosts_[rank_], suspicion);
  });
}

void CommunicationThread::Loop() {
  prctl(PR_SET_NAME, "communication");
  // Naps are as short as asked for.
  prctl(PR_SET_TIMERSLACK, 1000);
  // Before compute where the system allows it: this thread needs little, but at once, or the link
  // stands still.
  setpriority(PRIO_PROCESS, 0, kPriority);
  Lock lock(mutex_);
  for (;;) {
    if (leaving_ && !told_) TellOthers(&lock);
    if (tasks_.empty()) {
      if (stop_) return;
      changed_.wait_for(lock, kServeInterval, [this] { return !tasks_.empty() || stop_; });
      if (tasks_.empty() && !stop_ && inner_ && !error_) ServeOthers(&lock);
      continue;
    }
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    const std::string activity = activity_;
    lock.unlock();
    Do(task, activity);
    lock.lock();
  }
}

void CommunicationThread::Do(const Task& task, const std::string& activity) {
  if (inner_) inner_->watchdog()->SetActivity(activity);
  task.pending->Begin();
  if (!error_) {
    last_words_.recorder()->Start(task.sequence);
    try {
      task.body(inner_.get());
      last_words_.recorder()->End(task.sequence);
    } catch (...) {
      error_ = Fail(std::current_exception(), task.sequence);
    }
  }
  task.pending->End(error_);
}

void CommunicationThread::ServeOthers(Lock* lock) {
  const std::string activity = activity_;
  lock->unlock();
  try {
    inner_->watchdog()->SetActivity(activity);
    inner_->watchdog()->Serve();
  } catch (...) {
    error_ = Fail(std::current_exception(), -1);
  }
  lock->lock();
}

void CommunicationThread::TellOthers(Lock* lock) {
  if (!error_) {
    const auto own = std::make_exception_ptr(CommError(reason_));
    lock->unlock();
    error_ = Fail(own, -1);
    lock->lock();
  }
  told_ = true;
  changed_.notify_all();
}

std::exception_ptr CommunicationThread::Fail(const std::exception_ptr& error, int64_t sequence) {
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
    last_words_.recorder()->Fail(sequence, e.what());
    return error;
  }
  last_words_.recorder()->Fail(sequence, reason);
  if (!inner_) return error;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (leaving_) reason = reason_;
  }
  if (!by_other) {
    try {
      inner_->watchdog()->TellEnd(reason);
    } catch (const CommError&) {
    }
  }
  const std::string where = WriteLastWords(reason);
  Lock lock(mutex_);
  where_ = where;
  if (last_words_.guarded() && !leaving_) {
    lock.unlock();
    EndProcess(reason + where, [this] { inner_->watchdog()->Farewell(); });
  }
  return std::make_exception_ptr(CommError(reason + where));
}

}  // namespace gf
