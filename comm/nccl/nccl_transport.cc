#include <cuda_runtime_api.h>
#include <glog/logging.h>
#include <nccl.h>

#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/collective_runner.h"
#include "comm/failure/progress_watch.h"
#include "comm/flow/gradient_transport.h"
#include "comm/nccl/collectives.h"
#include "comm/nccl/nccl_carrier.h"
#include "comm/nccl/nccl_comm.h"
#include "comm/plan.h"
#include "core/cuda/cuda_device.h"
#include "core/cuda/error.h"
#include "core/cuda/gpu_clock.h"
#include "core/error.h"

namespace gf {
namespace {

// Note [Collectives on a stream]
// Everything happens on the communication stream, whose kernels go first where the GPU has to
// choose. Start makes it wait for what is on the compute stream by then; Await makes the compute
// stream wait for the collective's end. Where another type travels, the range is converted to a
// scratch pool and back on the same stream. NCCL's own algorithms make the sums, or the project's
// plans, a step as one send and one receive of NCCL's and a kernel that adds. An encoded sum has
// its kernel between two operations of NCCL's. The host sees neither end: a watch looks at the
// events from a thread of its own, aborts what does not get on, and the next call throws. Before it
// does, the ranks meet in a barrier of the host's, which knows who is missing.
class NcclTransport : public GradientTransport {
 public:
  NcclTransport(Device* device, Communicator* host, const std::string& algorithm)
      : device_(device),
        host_(host),
        algorithm_(algorithm),
        stream_(device->NewStream(StreamUse::kCommunication)),
        clock_(device),
        comm_(host, host->timeout_s() / 2),
        watch_(host->timeout_s() / 2,
               {[this] { return comm_.Error(); }, [this] { comm_.Abort(); }}) {}

  ~NcclTransport() override {
    // The scratch pools may be in use.
    if (std::uncaught_exceptions() == 0) watch_.Drain();
  }

  std::string Describe() const override {
    int version = 0;
    ncclGetVersion(&version);
    return StrCat("NCCL ", version / 10000, ".", version / 100 % 100, ".", version % 100,
                  algorithm_.empty() ? "" : ", " + algorithm_);
  }

  int64_t Start(const TensorCollective& collective) override {
    CudaContext::Get();  // this thread's GPU
    ThrowFailure();
    const std::shared_ptr<Ticket> ticket = NewTicket();
    ticket->ready.Record(compute());
    GF_CUDA(cudaStreamWaitEvent(stream(), ticket->ready.get(), 0));
    ticket->begin.Record(stream());
    try {
      Enqueue(collective);
    } catch (const CommError& e) {
      comm_.Abort();
      Fail(StrCat(collective.label, ": ", e.what()));
    }
    ticket->done.Record(stream());
    watch_.Add({collective.label, [ticket] { return Passed(ticket->ready); },
                [ticket] { return Passed(ticket->done); }});
    started_.push_back(ticket);
    return next_++;
  }

  void Await(int64_t number) override {
    CudaContext::Get();
    ThrowFailure();
    CHECK_EQ(number, next_ - static_cast<int64_t>(started_.size())) << "awaited out of order";
    const std::shared_ptr<Ticket> ticket = std::move(started_.front());
    started_.pop_front();
    ticket->stall.Record(compute());
    GF_CUDA(cudaStreamWaitEvent(compute(), ticket->done.get(), 0));
    ticket->resume.Record(compute());
    awaited_.push_back(ticket);
  }

  void Settle() override {
    watch_.Drain();
    ThrowFailure();
    device_->compute_stream()->Synchronize();
    TakePassed();
    clock_.Set();
  }

  std::vector<TransferSpan> TakeSpans() override {
    TakePassed();
    return std::exchange(spans_, {});
  }

 private:
  // Where a collective lies in the two streams.
  struct Ticket {
    CudaEvent ready;                      // on the compute stream: its range was written
    CudaEvent begin{true}, done{true};    // on the communication stream
    CudaEvent stall{true}, resume{true};  // on the compute stream: around the wait for it
  };

  void TakePassed() {
    while (!awaited_.empty() && Passed(awaited_.front()->resume)) {
      const Ticket& ticket = *awaited_.front();
      spans_.push_back({clock_.TimeOf(ticket.begin), clock_.TimeOf(ticket.done),
                        clock_.TimeOf(ticket.stall), clock_.TimeOf(ticket.resume)});
      spare_.push_back(std::move(awaited_.front()));
      awaited_.pop_front();
    }
  }

  static bool Passed(const CudaEvent& event) {
    CudaContext::Get();
    return event.Done();
  }

  cudaStream_t compute() const { return RawStream(device_->compute_stream()); }
  cudaStream_t stream() const { return RawStream(stream_.get()); }

  std::shared_ptr<Ticket> NewTicket() {
    if (spare_.empty() || spare_.back().use_count() > 1) return std::make_shared<Ticket>();
    std::shared_ptr<Ticket> ticket = std::move(spare_.back());
    spare_.pop_back();
    return ticket;
  }

  static Tensor Part(const Tensor& pool, int64_t begin, int64_t end) {
    Tensor part;
    part.desc = {Shape{end - begin}, pool.desc.dtype, Layout()};
    part.data = pool.as<char>() + begin * SizeOf(pool.desc.dtype);
    return part;
  }

  // A pool of equal offsets in another type.
  const Tensor& Scratch(const Tensor& pool, DType dtype) {
    Tensor& scratch = scratch_[{pool.data, dtype}];
    if (scratch.data == nullptr) {
      scratch.desc = pool.desc;
      scratch.desc.dtype = dtype;
      scratch.owner = device_->Allocate(scratch.desc.bytes());
      scratch.data = scratch.owner.get();
    }
    return scratch;
  }

  const Plan& AllReducePlan() {
    if (!plan_) {
      const auto algorithm = AlgorithmRegistry::Get().Create("comm.algorithm", algorithm_);
      plan_ = algorithm->AllReduce(host_->rank(), TopologyOf(host_->hosts()));
    }
    return *plan_;
  }

  // Memory for what a plan's step keeps apart; used by one collective after the other.
  void* Aside(size_t bytes) {
    if (bytes > aside_bytes_) {
      stream_->Synchronize();  // the old one is in use
      aside_ = device_->Allocate(bytes);
      aside_bytes_ = bytes;
    }
    return aside_.get();
  }

  void Enqueue(const TensorCollective& c) {
    const int rank = host_->rank(), world = host_->size();
    const int64_t begin = c.range.begin, count = c.range.end - c.range.begin;
    const bool converts = c.wire != c.tensor.desc.dtype;
    const bool encoded = c.kind == Collective::kEncodedSum;
    CHECK(!converts || (c.kind != Collective::kAllGather && !encoded)) << c.label;
    const Tensor& pool = converts ? Scratch(c.tensor, c.wire) : c.tensor;
    const Tensor part = Part(pool, begin, c.range.end);
    if (converts) device_->Convert(Part(c.tensor, begin, c.range.end), part, stream_.get());
    const NcclVector vector = {part.data, count, c.wire};
    if (encoded) return EnqueueEncodedSum(vector, c);
    if (algorithm_.empty() || c.kind != Collective::kAllReduce) {
      comm_.Enqueue([&](ncclComm_t comm) {
        return EnqueueNccl(c.kind, vector, rank, world, comm, stream());
      });
    } else {
      NcclCarrier carrier(vector, Aside(count * SizeOf(c.wire)), &comm_, stream());
      CarryOut(AllReducePlan(), count, &carrier);
    }
    if (!converts) return;
    const bool own = c.kind == Collective::kReduceScatter;
    const int64_t first = begin + (own ? PartBegin(count, rank, world) : 0);
    const int64_t last = begin + (own ? PartBegin(count, rank + 1, world) : count);
    device_->Convert(Part(pool, first, last), Part(c.tensor, first, last), stream_.get());
  }

  void EnqueueEncodedSum(const NcclVector& vector, const TensorCollective& c) {
    const int rank = host_->rank(), world = host_->size();
    CHECK(vector.dtype == DType::kFP32) << c.label;
    CHECK_EQ(vector.count % (2 * world), 0) << c.label;
    comm_.Enqueue(
        [&](ncclComm_t comm) { return EnqueueAllToAll(vector, rank, world, comm, stream()); });
    c.sum->OnDevice(static_cast<float*>(vector.data), stream_.get());
    const NcclVector sums = {vector.data, vector.count / 2, vector.dtype};
    comm_.Enqueue([&](ncclComm_t comm) {
      return EnqueueNccl(Collective::kAllGather, sums, rank, world, comm, stream());
    });
  }

  void ThrowFailure() {
    const std::string failure = watch_.failure();
    if (!failure.empty()) Fail(failure);
  }

  [[noreturn]] void Fail(const std::string& failure) {
    host_->Barrier(StrCat("the end of NCCL (", failure, ")"));
    throw CommError(StrCat(RankName(host_->rank(), host_->hosts()), ": NCCL: ", failure,
                           " (comm.timeout_s: ", host_->timeout_s(), ")"));
  }

  Device* const device_;
  Communicator* const host_;
  const std::string algorithm_;  // whose plan allreduces follow; "": NCCL's own
  const std::unique_ptr<Stream> stream_;
  GpuClock clock_;
  std::map<std::pair<const void*, DType>, Tensor> scratch_;
  std::optional<Plan> plan_;  // of allreduces; made when first needed
  std::shared_ptr<void> aside_;
  size_t aside_bytes_ = 0;
  std::deque<std::shared_ptr<Ticket>> started_, awaited_;
  std::vector<std::shared_ptr<Ticket>> spare_;
  std::vector<TransferSpan> spans_;  // not taken yet
  int64_t next_ = 0;
  NcclComm comm_;
  ProgressWatch watch_;  // uses comm_
};

GF_REGISTER(GradientTransportRegistry, "cuda", NcclTransport);

}  // namespace
}  // namespace gf
