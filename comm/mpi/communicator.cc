#include "comm/mpi/communicator.h"

#include <glog/logging.h>
#include <mpi.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "comm/collective_runner.h"
#include "comm/failure/launcher.h"
#include "comm/mpi/transport.h"
#include "comm/mpi/waiter.h"
#include "comm/mpi/watchdog.h"
#include "comm/wire/wire.h"
#include "core/error.h"

namespace gf {
namespace {

// MPI counts are ints.
constexpr int64_t kLargestCount = int64_t{1} << 30;
// Large reductions go in pieces of this many elements per rank (at least four times as many in
// all): Open MPI's non-blocking allreduce works in a buffer of the whole message, which then
// stays in the cache.
constexpr int64_t kPiecePerRank = int64_t{1} << 18;

void SumBF16(void* from, void* to, int* count, MPI_Datatype*) {
  WireFor(DType::kBF16, DType::kBF16).add(from, to, *count);
}

MPI_Op ToMpi(ReduceOp op) {
  return op == ReduceOp::kSum ? MPI_SUM : op == ReduceOp::kMin ? MPI_MIN : MPI_MAX;
}

class MpiCommunicator : public Communicator {
 public:
  MpiCommunicator(int* argc, char*** argv, double timeout_s);
  ~MpiCommunicator() override;

  void Run(const Collective& collective, const std::string& label) override;
  void AllReduce(double* values, int64_t count, ReduceOp op, const std::string& label) override;
  void AllReduce(int64_t* values, int64_t count, ReduceOp op, const std::string& label) override;
  std::vector<std::string> AllGather(const std::string& mine, const std::string& label) override;
  void Broadcast(std::string* bytes, int root, const std::string& label) override;
  void Barrier(const std::string& label) override;
  Watchdog* watchdog() override { return watchdog_.get(); }
  void Finalize() override;
  [[noreturn]] void Abort(int exit_code) override;

 private:
  void Reduce(void* data, int64_t count, MPI_Datatype type, size_t element, MPI_Op op,
              const std::string& label);

  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Op sum_bf16_ = MPI_OP_NULL;
  std::unique_ptr<MpiWatchdog> watchdog_;
  std::unique_ptr<MpiWaiter> waiter_;
  std::unique_ptr<MpiTransport> transport_;
  std::unique_ptr<CollectiveRunner> runner_;
  std::vector<char> wire_buffer_;
  bool finalized_ = false;  // no function of MPI may be called any more
};

MpiCommunicator::MpiCommunicator(int* argc, char*** argv, double timeout_s) {
  int initialized = 0;
  MPI_Initialized(&initialized);
  CHECK(!initialized) << "a process has one MPI communicator";
  int level = 0;
  CheckMpi(MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &level), "start");
  CHECK_GE(level, MPI_THREAD_SERIALIZED) << "this MPI serves one thread only";
  CheckMpi(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "start");
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  CheckMpi(MPI_Op_create(SumBF16, /*commute=*/1, &sum_bf16_), "start");
  int rank = 0, size = 1;
  MPI_Comm_rank(comm_, &rank);
  MPI_Comm_size(comm_, &size);
  const char* const launched = std::getenv("PMI_SIZE");
  if (launched != nullptr && std::atoi(launched) > size) {
    ThrowUserError("started as one of ", launched, " processes, but Open MPI sees ", size,
                   ": use the mpirun of Open MPI, with which this program was built");
  }
  watchdog_ = std::make_unique<MpiWatchdog>(comm_, timeout_s);
  waiter_ = std::make_unique<MpiWaiter>(watchdog_.get(), timeout_s);
  SetRanks(rank, std::vector<std::string>(size, "?"));
  const std::vector<std::string> hosts = AllGather(HostName(), "host names");
  SetRanks(rank, hosts);
  watchdog_->SetHosts(hosts);
  SetTimeout(timeout_s);
  transport_ = std::make_unique<MpiTransport>(comm_, waiter_.get());
  runner_ = std::make_unique<CollectiveRunner>(transport_.get(), hosts);
}

MpiCommunicator::~MpiCommunicator() {
  // With an exception in flight the process is about to end with an error: mpirun then ends the
  // other ranks, and MPI_Finalize could wait for them.
  if (finalized_ || std::uncaught_exceptions() > 0) return;
  try {
    Finalize();
  } catch (const std::exception& e) {
    PrintError("communication error", e.what());
    Abort(3);
  }
}

void MpiCommunicator::Reduce(void* data, int64_t count, MPI_Datatype type, size_t element,
                             MPI_Op op, const std::string& label) {
  const std::string operation = "allreduce of " + label;
  char* const bytes = static_cast<char*>(data);
  const int64_t piece = std::min(kPiecePerRank * std::max(size(), 4), kLargestCount);
  for (int64_t done = 0; done < count; done += piece) {
    const int64_t n = std::min(count - done, piece);
    MPI_Request request;
    CheckMpi(MPI_Iallreduce(MPI_IN_PLACE, bytes + done * element, static_cast<int>(n), type, op,
                            comm_, &request),
             operation);
    waiter_->Wait(&request, operation, n * element);
  }
}

void MpiCommunicator::Run(const Collective& c, const std::string& label) {
  const bool blocking = c.algorithm == "mpi";
  if ((c.algorithm != "native" && !blocking) || c.kind != Collective::kAllReduce) {
    return runner_->Run(c, StrCat(NameOf(c.kind), " of ", label));
  }
  CHECK(c.dtype == DType::kFP32 || c.dtype == DType::kBF16) << Name(c.dtype);
  if (c.wire == DType::kFP16) {
    ThrowUserError("comm.algorithm: ", c.algorithm, " carries FP32 and BF16, not FP16");
  }
  const auto reduce = [&](void* data, DType dtype) {
    const bool fp32 = dtype == DType::kFP32;
    const MPI_Datatype type = fp32 ? MPI_FLOAT : MPI_UINT16_T;
    const MPI_Op op = fp32 ? MPI_SUM : sum_bf16_;
    if (!blocking) return Reduce(data, c.count, type, SizeOf(dtype), op, label);
    for (int64_t done = 0; done < c.count; done += kLargestCount) {
      const int64_t n = std::min(c.count - done, kLargestCount);
      CheckMpi(MPI_Allreduce(MPI_IN_PLACE, static_cast<char*>(data) + done * SizeOf(dtype),
                             static_cast<int>(n), type, op, comm_),
               "allreduce of " + label);
    }
  };
  if (c.wire == c.dtype) return reduce(c.data, c.dtype);
  const WireFunctions& wire = WireFor(c.dtype, c.wire);
  wire_buffer_.resize(c.count * SizeOf(c.wire));
  wire.encode(c.data, wire_buffer_.data(), c.count);
  reduce(wire_buffer_.data(), c.wire);
  wire.decode(wire_buffer_.data(), c.data, c.count);
}

void MpiCommunicator::AllReduce(double* values, int64_t count, ReduceOp op,
                                const std::string& label) {
  Reduce(values, count, MPI_DOUBLE, sizeof(double), ToMpi(op), label);
}

void MpiCommunicator::AllReduce(int64_t* values, int64_t count, ReduceOp op,
                                const std::string& label) {
  Reduce(values, count, MPI_INT64_T, sizeof(int64_t), ToMpi(op), label);
}

std::vector<std::string> MpiCommunicator::AllGather(const std::string& mine,
                                                    const std::string& label) {
  const std::string operation = "allgather of " + label;
  std::vector<int64_t> lengths(size());
  const int64_t length = static_cast<int64_t>(mine.size());
  MPI_Request request;
  CheckMpi(MPI_Iallgather(&length, 1, MPI_INT64_T, lengths.data(), 1, MPI_INT64_T, comm_, &request),
           operation);
  waiter_->Wait(&request, operation, size() * sizeof(length));

  std::vector<int> counts(size()), offsets(size());
  int64_t total = 0;
  for (int i = 0; i < size(); ++i) {
    CHECK_LE(total + lengths[i], INT_MAX) << operation;
    counts[i] = static_cast<int>(lengths[i]);
    offsets[i] = static_cast<int>(total);
    total += lengths[i];
  }
  std::string all(total, '\0');
  CheckMpi(MPI_Iallgatherv(mine.data(), counts[rank()], MPI_BYTE, &all[0], counts.data(),
                           offsets.data(), MPI_BYTE, comm_, &request),
           operation);
  waiter_->Wait(&request, operation, total);
  std::vector<std::string> parts;
  for (int i = 0; i < size(); ++i) parts.push_back(all.substr(offsets[i], counts[i]));
  return parts;
}

void MpiCommunicator::Broadcast(std::string* bytes, int root, const std::string& label) {
  const std::string operation = "broadcast of " + label;
  int64_t length = static_cast<int64_t>(bytes->size());
  MPI_Request request;
  CheckMpi(MPI_Ibcast(&length, 1, MPI_INT64_T, root, comm_, &request), operation);
  waiter_->Wait(&request, operation, sizeof(length));
  bytes->resize(length);
  for (int64_t done = 0; done < length; done += kLargestCount) {
    const int64_t n = std::min(length - done, kLargestCount);
    CheckMpi(MPI_Ibcast(&(*bytes)[done], static_cast<int>(n), MPI_BYTE, root, comm_, &request),
             operation);
    waiter_->Wait(&request, operation, n);
  }
}

void MpiCommunicator::Barrier(const std::string& label) {
  const std::string operation = "barrier: " + label;
  MPI_Request request;
  CheckMpi(MPI_Ibarrier(comm_, &request), operation);
  waiter_->Wait(&request, operation, 0);
}

void MpiCommunicator::Finalize() {
  if (finalized_) return;
  // Under the deadline, which MPI_Finalize's own wait for the others is not.
  Barrier("end of the job");
  finalized_ = true;
  watchdog_->Close();
  MPI_Op_free(&sum_bf16_);
  MPI_Finalize();
}

void MpiCommunicator::Abort(int exit_code) {
  std::fflush(nullptr);
  EndLauncherLater();
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

}  // namespace

std::unique_ptr<Communicator> NewMpiCommunicator(int* argc, char*** argv, double timeout_s) {
  return std::make_unique<MpiCommunicator>(argc, argv, timeout_s);
}

}  // namespace gf
