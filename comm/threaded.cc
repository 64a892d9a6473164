#include "comm/threaded.h"

#include <sys/prctl.h>

#include <cstdlib>
#include <deque>
#include <thread>

#include "core/error.h"

namespace gf {
namespace {

// How often the idle thread looks for questions of other ranks.
constexpr auto kServeInterval = std::chrono::milliseconds(10);
// Longer than the collective's own deadline by this, so that the better message wins.
constexpr double kGrace_s = 5;

class ThreadedCommunicator : public Communicator {
 public:
  explicit ThreadedCommunicator(const std::function<std::unique_ptr<Communicator>()>& make) {
    thread_ = std::thread([this] { Loop(); });
    try {
      Do("start", [&](Communicator*) { inner_ = make(); });
    } catch (...) {
      Stop();
      throw;
    }
    SetRanks(inner_->rank(), inner_->hosts());
    SetTimeout(inner_->timeout_s());
  }

  ~ThreadedCommunicator() override {
    // With an exception in flight the process is about to end with an error, and the thread may be
    // waiting for ranks that never come.
    if (std::uncaught_exceptions() > 0) {
      inner_->Cancel();
    } else {
      try {
        Do("end", [this](Communicator*) { inner_.reset(); });
      } catch (const std::exception&) {
      }
    }
    Stop();
  }

  void Run(const Collective& collective, const std::string& label) override {
    Await(Start(collective, label).get());
  }

  std::shared_ptr<Pending> Start(const Collective& collective, const std::string& label) override {
    return Post(label, [collective, label](Communicator* inner) { inner->Run(collective, label); });
  }

  void AllReduce(double* values, int64_t count, ReduceOp op, const std::string& label) override {
    Do(label, [&](Communicator* inner) { inner->AllReduce(values, count, op, label); });
  }
  void AllReduce(int64_t* values, int64_t count, ReduceOp op, const std::string& label) override {
    Do(label, [&](Communicator* inner) { inner->AllReduce(values, count, op, label); });
  }
  std::vector<std::string> AllGather(const std::string& mine, const std::string& label) override {
    std::vector<std::string> all;
    Do(label, [&](Communicator* inner) { all = inner->AllGather(mine, label); });
    return all;
  }
  void Broadcast(std::string* bytes, int root, const std::string& label) override {
    Do(label, [&](Communicator* inner) { inner->Broadcast(bytes, root, label); });
  }
  void Barrier(const std::string& label) override {
    Do(label, [&](Communicator* inner) { inner->Barrier(label); });
  }
  void Finalize() override {
    Do("end of the job", [](Communicator* inner) { inner->Finalize(); });
  }

  void Cancel() override { inner_->Cancel(); }

  void Await(Pending* pending) override {
    int64_t before = -1;
    while (!pending->WaitFor(timeout_s() + kGrace_s)) {
      const int64_t now = inner_ ? inner_->heartbeat() : -1;
      if (now == before) {
        throw CommError(StrCat(RankName(rank(), hosts()), ": the communication thread is stuck in ",
                               pending->label(), " (comm.timeout_s: ", timeout_s(), ")"));
      }
      before = now;
    }
  }

  void SetActivity(const std::string& activity) override {
    std::lock_guard<std::mutex> lock(mutex_);
    activity_ = activity;
  }

  [[noreturn]] void Abort(int exit_code) override {
    inner_->Abort(exit_code);
    std::_Exit(exit_code);
  }

 private:
  using Body = std::function<void(Communicator*)>;
  struct Task {
    std::shared_ptr<Pending> pending;
    Body body;
  };
  std::shared_ptr<Pending> Post(const std::string& label, Body body) {
    auto pending = std::make_shared<Pending>(label);
    std::lock_guard<std::mutex> lock(mutex_);
    tasks_.push_back({pending, std::move(body)});
    changed_.notify_all();
    return pending;
  }

  void Do(const std::string& label, Body body) { Await(Post(label, std::move(body)).get()); }

  void Loop() {
    prctl(PR_SET_NAME, "communication");
    // Naps are as short as asked for.
    prctl(PR_SET_TIMERSLACK, 1000);
    std::exception_ptr error;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      if (tasks_.empty()) {
        if (stop_) return;
        changed_.wait_for(lock, kServeInterval, [this] { return !tasks_.empty() || stop_; });
        if (tasks_.empty() && !stop_ && inner_ && !error) {
          const std::string activity = activity_;
          lock.unlock();
          try {
            inner_->SetActivity(activity);
            inner_->Serve();
          } catch (...) {
            error = std::current_exception();
          }
          lock.lock();
        }
        continue;
      }
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task.pending->Begin();
      if (!error) {
        try {
          task.body(inner_.get());
        } catch (...) {
          error = std::current_exception();
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
  std::unique_ptr<Communicator> inner_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Communicator> NewThreadedCommunicator(
    const std::function<std::unique_ptr<Communicator>()>& make) {
  return std::make_unique<ThreadedCommunicator>(make);
}

}  // namespace gf
