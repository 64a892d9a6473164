#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/collective.h"
#include "comm/pending.h"
#include "comm/watchdog.h"
#include "core/dtype.h"
#include "core/error.h"

namespace gf {

enum class ReduceOp { kSum, kMin, kMax };

// The ranks of a job and what they do together. Every collective is called by all ranks in the
// same order with the same counts, by one thread of a rank at a time; `label` says in errors
// what it was for ("fc6.weight, step 12"). A rank that waits longer than the deadline for the
// others, and sees no progress, gets a CommError that names rank, host, operation and, where it
// can be told, who is missing. After a CommError the only thing left is to end the process.
class Communicator {
 public:
  virtual ~Communicator() = default;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(hosts_.size()); }
  // Name of the machine that each rank runs on.
  const std::vector<std::string>& hosts() const { return hosts_; }
  const std::string& host() const { return hosts_[rank_]; }

  // Runs a collective; returns when this rank's part is done.
  virtual void Run(const Collective& collective, const std::string& label) = 0;

  // Starts it and returns at once where a communication thread does the work (NewCommunicator);
  // elsewhere runs it. The memory is not touched until the end.
  virtual std::shared_ptr<Pending> Start(const Collective& collective, const std::string& label);

  // Sums `count` elements (FP32 or BF16) over all ranks, in place, with the transport's own
  // algorithm. BF16 is rounded after each hop between ranks.
  void AllReduceSum(void* data, int64_t count, DType dtype, const std::string& label);

  // Rank `to` gets the `count` values of rank `from`, another one; for the others `data` may be
  // null.
  void Transfer(int from, int to, float* data, int64_t count, const std::string& label);

  // For counters and times: element by element, in place.
  virtual void AllReduce(double* values, int64_t count, ReduceOp op, const std::string& label) = 0;
  virtual void AllReduce(int64_t* values, int64_t count, ReduceOp op, const std::string& label) = 0;

  // The strings of all ranks, by rank; lengths may differ.
  virtual std::vector<std::string> AllGather(const std::string& mine, const std::string& label) = 0;

  // Replaces `bytes` by the root's.
  virtual void Broadcast(std::string* bytes, int root, const std::string& label) = 0;

  virtual void Barrier(const std::string& label) = 0;

  // How the job ends when a rank fails; never null, lives as long as this object.
  virtual Watchdog* watchdog() { return &plain_watchdog_; }

  // Waits for a collective that was started here; rethrows what ended it. A communication thread
  // that does not come back from MPI is a CommError, too.
  virtual void Await(Pending* pending) { pending->Wait(); }

  // Seconds after which a waiting rank gives up.
  double timeout_s() const { return timeout_s_; }

  // The normal end of the job, called by all ranks; no collectives after it. Objects that are
  // destroyed without it call it themselves, unless an exception is in flight.
  virtual void Finalize() = 0;

  // Ends this process, and the other ranks with it, without waiting for anybody; after
  // Watchdog::TellEnd, with a Farewell.
  [[noreturn]] virtual void Abort(int exit_code) = 0;

 protected:
  // To be called before anything else is asked of the object.
  void SetRanks(int rank, std::vector<std::string> hosts);
  void SetTimeout(double timeout_s) { timeout_s_ = timeout_s; }

 private:
  Watchdog plain_watchdog_;
  int rank_ = 0;
  double timeout_s_ = 120;
  std::vector<std::string> hosts_ = {"?"};
};

// Name of this machine.
std::string HostName();

// "rank 3 (host b)"
std::string RankName(int rank, const std::vector<std::string>& hosts);

// "ranks 0-2, 5"; "rank 3".
std::string RankList(const std::vector<int>& ranks);

}  // namespace gf
