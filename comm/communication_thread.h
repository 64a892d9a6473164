#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "comm/communicator.h"
#include "comm/failure/last_words.h"
#include "comm/pending.h"
#include "comm/watchdog.h"

namespace gf {

// The thread that makes a communicator and alone calls it afterwards; and the watchdog that other
// threads see. Between tasks it serves the communicator's own watchdog. After the first error every
// later task ends with the same one.
//
// Note [How a job ends badly]
// The first error ends everything on this rank. The communication thread writes the flight recorder
// and tells the other ranks, which otherwise would learn of it from their own deadlines or from
// mpirun's signals, which leave no time for a message. Ranks that are told write theirs. Each says
// when it has written its last words and waits a moment for the other ranks' words, because the
// first process that ends makes mpirun kill all. The communication thread ends the process, since
// the main thread may be in something that hangs; only an error of the main thread's own (TellEnd)
// leaves that to it.
class CommunicationThread : public Watchdog {
 public:
  using Body = std::function<void(Communicator*)>;
  using Make = std::function<std::unique_ptr<Communicator>()>;

  // See NewThreadedCommunicator.
  CommunicationThread(const Make& make, double start_timeout_s);
  // With an exception in flight, which ends the process, nothing is waited for.
  ~CommunicationThread() override;

  Communicator* inner() { return inner_.get(); }

  // Queues a task. With an info, whose label is `label`, the flight recorder keeps it.
  std::shared_ptr<Pending> Post(const std::string& label, Body body,
                                const CollectiveInfo* info = nullptr);
  // Waits for a task; rethrows its error. Throws CommError, or ends a guarded process, if the
  // thread does not come back.
  void Await(Pending* pending);
  // The job has ended well.
  void EndedWell() { last_words_.EndedWell(rank_); }

  void SetActivity(const std::string& activity) override;
  void Guard(const std::string& flight_recorder) override { last_words_.Guard(flight_recorder); }
  void BeforeExit(std::function<void()> body) override;
  void WatchSignals(std::function<bool()> asked_to_end) override;
  std::string TellEnd(const std::string& reason) override;
  // Does nothing unless TellEnd has reached the other ranks.
  void Farewell() override;
  void Cancel() override { inner_->watchdog()->Cancel(); }
  int64_t heartbeat() const override { return inner_ ? inner_->watchdog()->heartbeat() : -1; }

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Task {
    std::shared_ptr<Pending> pending;
    Body body;
    int64_t sequence;  // the recorder's
  };

  // On the communication thread. Those with a lock hold it on entry and on return.
  void Start(const Make& make);
  void Loop();
  void Do(const Task& task, const std::string& activity);
  void ServeOthers(Lock* lock);
  void TellOthers(Lock* lock);
  // Handles the first error (Note [How a job ends badly]) and returns the error for other threads.
  std::exception_ptr Fail(const std::exception_ptr& error, int64_t sequence);

  // Prints the message, calls the body of BeforeExit and `farewell`, and ends the process. Does not
  // run exit handlers or flush stdout: another thread may hang while it holds their locks.
  [[noreturn]] void EndProcess(
      const std::string& message, const std::function<void()>& farewell = [] {});

  void Stop();
  // The communication thread does not come back from MPI.
  [[noreturn]] void Stuck(const std::string& label);
  std::string WriteLastWords(const std::string& reason) {
    return last_words_.Write(rank_, hosts_[rank_], reason);
  }

  // Set by Start.
  std::unique_ptr<Communicator> inner_;
  int rank_ = 0;
  std::vector<std::string> hosts_ = {"?"};
  double timeout_s_ = 0;

  LastWords last_words_;
  std::exception_ptr error_;  // the first; the communication thread's

  std::mutex before_exit_mutex_;
  std::function<void()> before_exit_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::string activity_;
  bool stop_ = false;
  // This rank ends the job: why, and whether the others have been told.
  bool leaving_ = false, told_ = false;
  std::string reason_;
  std::string where_;  // names the file of the last words in messages, after an error
  std::thread thread_;
};

}  // namespace gf
