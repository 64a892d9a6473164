#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "comm/transport.h"

namespace gf {

// Throws CommError if an MPI call failed.
void CheckMpi(int code, const std::string& operation);

// Waits for non-blocking MPI operations under a deadline. When it draws near, the waiting rank
// asks all others (on a communicator of its own) what they are doing; whoever is silent or
// elsewhere is named in the error. Every rank answers while it waits, and in Serve. Who gives up
// tells all others, which then end with EndedByOther.
class MpiWaiter {
 public:
  // `parent` is duplicated (collective). The deadline is in seconds.
  MpiWaiter(MPI_Comm parent, double timeout_s);

  // Names for messages; until then ranks are numbers.
  void SetHosts(const std::vector<std::string>& hosts) { hosts_ = hosts; }

  // Returns when the request is complete. `bytes`: how much travels; polls without sleeping for
  // about as long as that takes. Throws CommError.
  void Wait(MPI_Request* request, const std::string& operation, int64_t bytes);

  // Transport::Drive.
  void Drive(const std::function<Progress()>& advance, const std::string& operation, int64_t bytes);

  // Communicator::SetActivity.
  void SetActivity(const std::string& activity) { activity_ = activity; }

  // Answers questions while this rank is in no operation.
  void Serve();

  // Tells all other ranks, once, that this one ends the job.
  void TellEnd(const std::string& reason);

  // Communicator::Farewell.
  void Farewell();

  // Communicator::WatchSignals and ReportTo.
  void WatchSignals(std::function<bool()> asked_to_end) { asked_to_end_ = std::move(asked_to_end); }
  void ReportTo(std::function<void(const std::string&)> report) { report_ = std::move(report); }

  // Counts looks at what is under way; from any thread.
  int64_t heartbeat() const { return heartbeat_; }

  // Ends Wait and Drive with a CommError; from any thread.
  void Cancel() { cancelled_ = true; }

 private:
  using Clock = std::chrono::steady_clock;
  enum Kind : int64_t { kNothing, kQuestion, kAnswer, kEnd, kLastWords };
  struct Message {
    Kind kind;
    int64_t idle;      // the sender is in no operation, `text` is what it does
    int64_t asked;     // number of the operation that the asking rank waits for
    int64_t sequence;  // that of the sender
    char text[480];    // the sender's operation; kEnd: why
  };
  struct Sent {
    Message message;
    MPI_Request request;
  };

  void Drive(const std::function<Progress()>& advance, const std::string& operation,
             double patience_s, std::chrono::microseconds nap);
  void Send(int to, Kind kind, int64_t asked, const std::string& text);
  void AskEverybody(int64_t asked);
  void AnswerAll();
  void ForgetSent();
  // When this process was asked to end: whether another rank is gone.
  void CallTheRoll();
  [[noreturn]] void Expire(double waited_s);
  std::string NameOf(int rank) const;
  // Which ranks wait in what.
  std::string OutOfStep() const;
  // "rank 3 (host b) waited 2.1 s in allreduce of ..., step 12"
  std::string WaitedIn(double seconds) const;

  const double timeout_s_;
  MPI_Comm control_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::vector<std::string> hosts_;
  int64_t sequence_ = 0;
  std::string operation_, activity_;
  bool idle_ = true;
  Clock::time_point last_;  // progress of the operation
  std::atomic<bool> cancelled_{false};
  std::atomic<int64_t> heartbeat_{0};
  std::list<Sent> sent_;
  std::vector<Message> answers_;
  bool told_end_ = false;
  int ended_by_ = -1;             // the rank that has told this one
  std::vector<bool> last_words_;  // of which ranks they are known to be written

  std::function<bool()> asked_to_end_;
  std::function<void(const std::string&)> report_;
  bool reported_ = false;
  Clock::time_point roll_call_;  // the epoch while there is none
  double roll_call_s_;           // how long its answers may take
  std::vector<bool> heard_;      // since then
};

}  // namespace gf
