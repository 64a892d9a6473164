#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/dtype.h"

namespace gf {

enum class ReduceOp { kSum, kMin, kMax };

// The ranks of a job and what they do together. Every collective is called by all ranks in the
// same order with the same counts, by one thread of a rank at a time; `label` says in errors
// what it was for ("fc6.weight, step 12"). A rank that waits longer than the deadline for the
// others gets a CommError that names rank, host, operation and, where it can be told, who is
// missing. After a CommError the only thing left is to end the process.
class Communicator {
 public:
  virtual ~Communicator() = default;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(hosts_.size()); }
  // Name of the machine that each rank runs on.
  const std::vector<std::string>& hosts() const { return hosts_; }
  const std::string& host() const { return hosts_[rank_]; }
  // Among the ranks of the same host.
  int local_rank() const { return local_rank_; }
  int local_size() const { return local_size_; }

  // Sums `count` elements (FP32 or BF16) over all ranks, in place. All ranks get the same bits.
  // BF16 is added in FP32 and rounded after each hop between ranks.
  virtual void AllReduceSum(void* data, int64_t count, DType dtype, const std::string& label) = 0;

  // For counters and times: element by element, in place.
  virtual void AllReduce(double* values, int64_t count, ReduceOp op, const std::string& label) = 0;
  virtual void AllReduce(int64_t* values, int64_t count, ReduceOp op, const std::string& label) = 0;

  // The strings of all ranks, by rank; lengths may differ.
  virtual std::vector<std::string> AllGather(const std::string& mine, const std::string& label) = 0;

  // Replaces `bytes` by the root's.
  virtual void Broadcast(std::string* bytes, int root, const std::string& label) = 0;

  virtual void Barrier(const std::string& label) = 0;

  // The normal end of the job, called by all ranks; no collectives after it. Objects that are
  // destroyed without it call it themselves, unless an exception is in flight.
  virtual void Finalize() = 0;

  // Ends this process, and the other ranks with it, without waiting for anybody.
  [[noreturn]] virtual void Abort(int exit_code) = 0;

 protected:
  // To be called before anything else is asked of the object.
  void SetRanks(int rank, std::vector<std::string> hosts);

 private:
  int rank_ = 0, local_rank_ = 0, local_size_ = 1;
  std::vector<std::string> hosts_ = {"?"};
};

// This process's communicator: MPI if it was started by mpirun (or srun) with more than one
// rank, otherwise a world of one that never touches MPI. `timeout_s`: the deadline of every
// collective, seconds.
std::unique_ptr<Communicator> NewCommunicator(int* argc, char*** argv, double timeout_s);

// Name of this machine.
std::string HostName();

// "rank 3 (host b)"
std::string RankName(int rank, const std::vector<std::string>& hosts);

// "ranks 0-2, 5"; "rank 3".
std::string RankList(const std::vector<int>& ranks);

}  // namespace gf
