#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "comm/mpi/missing_ranks.h"
#include "comm/watchdog.h"

namespace gf {

// Throws CommError if an MPI call failed.
void CheckMpi(int code, const std::string& operation);

// Ranks that ask each other, on an MPI communicator of their own, what they are doing, and tell
// each other of the end of the job. MpiWaiter says when this rank is in an operation, and lets it
// look around meanwhile. All functions belong to the communication thread, except Cancel and
// heartbeat, and Farewell once the communication thread no longer calls MPI.
class MpiWatchdog : public Watchdog {
 public:
  using Clock = std::chrono::steady_clock;

  // `parent` is duplicated (collective). `timeout_s`: the deadline, for messages.
  MpiWatchdog(MPI_Comm parent, double timeout_s);

  // Names for messages; until then ranks are numbers.
  void SetHosts(const std::vector<std::string>& hosts) { hosts_ = hosts; }
  // MPI is at its end: nothing is sent or received any more.
  void Close() { closed_ = true; }

  // This rank begins an operation; goes on with it; ends it.
  void Begin(const std::string& operation);
  void Progressed() { last_ = Clock::now(); }
  void End() { idle_ = true; }
  // Seconds since Begin or Progressed.
  double Waited() const;

  // One look at what is under way. Throws CommError after Cancel.
  void Beat() { heartbeat_.fetch_add(1, std::memory_order_relaxed); }
  void ThrowIfCancelled() const;
  // Answers questions and hears answers. Throws EndedByOther.
  void LookAround();
  // Asks all ranks what they do, for Expire.
  void AskEverybody();
  // The deadline is over: tells all ranks that this one gives up, and throws a CommError that names
  // those who are missing.
  [[noreturn]] void Expire();

  void SetActivity(const std::string& activity) override { activity_ = activity; }
  void Serve() override;
  void Cancel() override { cancelled_ = true; }
  void WatchSignals(std::function<bool()> asked_to_end) override {
    asked_to_end_ = std::move(asked_to_end);
  }
  void ReportTo(std::function<void(const std::string&)> report) override {
    report_ = std::move(report);
  }
  // Tells once.
  std::string TellEnd(const std::string& reason) override;
  void Farewell() override;
  int64_t heartbeat() const override { return heartbeat_; }

 private:
  enum Kind : int64_t { kNothing, kQuestion, kAnswer, kEnd, kLastWords };
  struct Message {
    Kind kind;
    int64_t idle;      // the sender is in no operation, `text` is what it does
    int64_t asked;     // number of the operation that the asking rank waits for
    int64_t sequence;  // number of the sender's operation
    char text[480];    // the sender's operation; kEnd: why
  };
  struct Sent {
    Message message;
    MPI_Request request;
  };

  void Send(int to, Kind kind, int64_t asked, const std::string& text);
  void Ask(int64_t asked);
  void ReceiveAll();
  // Acts on a message of rank `from`.
  void Hear(const Message& message, int from);
  void ForgetSent();
  // When this process was asked to end: whether another rank is gone.
  void CallTheRoll();
  // "rank 3 (host b) waited 2.1 s in allreduce of ..., step 12"
  std::string WaitedIn(double seconds) const;
  std::string NameOf(int rank) const { return NameOfRank(rank, hosts_); }

  const double timeout_s_;
  MPI_Comm control_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::vector<std::string> hosts_;
  std::atomic<bool> closed_{false};

  // Of this rank.
  int64_t sequence_ = 0;
  std::string operation_, activity_;
  bool idle_ = true;
  Clock::time_point last_;  // progress of the operation
  std::atomic<bool> cancelled_{false};
  std::atomic<int64_t> heartbeat_{0};

  std::list<Sent> sent_;
  std::vector<RankState> answers_;  // by rank; empty until this operation has asked
  bool told_end_ = false;
  int ended_by_ = -1;             // the rank that has told this one
  std::vector<bool> last_words_;  // by rank: known to be written

  std::function<bool()> asked_to_end_;
  std::function<void(const std::string&)> report_;
  bool reported_ = false;
  Clock::time_point roll_call_;  // the epoch while there is none
  double roll_call_s_;           // how long its answers may take
  std::vector<bool> heard_;      // since then, by rank
};

}  // namespace gf
