#include "comm/threaded.h"

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "comm/communication_thread.h"

namespace gf {
namespace {

CollectiveInfo Info(const char* algorithm, int64_t bytes, const char* type) {
  return {{}, algorithm, bytes, type, type};
}

class ThreadedCommunicator : public Communicator {
 public:
  ThreadedCommunicator(const CommunicationThread::Make& make, double start_timeout_s)
      : thread_(make, start_timeout_s) {
    SetRanks(thread_.inner()->rank(), thread_.inner()->hosts());
    SetTimeout(thread_.inner()->timeout_s());
  }

  Watchdog* watchdog() override { return &thread_; }

  void Run(const Collective& collective, const std::string& label) override {
    Await(Start(collective, label).get());
  }

  std::shared_ptr<Pending> Start(const Collective& collective, const std::string& label) override {
    const bool sum = collective.kind == Collective::kAllReduce;
    const std::string algorithm = sum ? collective.algorithm : NameOf(collective.kind);
    const int64_t bytes = collective.count * static_cast<int64_t>(SizeOf(collective.dtype));
    const CollectiveInfo info = {
        {}, algorithm, bytes, Name(collective.dtype), Name(collective.wire)};
    return thread_.Post(
        label, [collective, label](Communicator* inner) { inner->Run(collective, label); }, &info);
  }

  void Await(Pending* pending) override { thread_.Await(pending); }

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
    thread_.EndedWell();
  }

  [[noreturn]] void Abort(int exit_code) override {
    thread_.Farewell();
    thread_.inner()->Abort(exit_code);
    std::_Exit(exit_code);
  }

 private:
  // Returns when it is done.
  void Do(const std::string& label, CommunicationThread::Body body, const CollectiveInfo& info) {
    Await(thread_.Post(label, std::move(body), &info).get());
  }

  CommunicationThread thread_;
};

}  // namespace

std::unique_ptr<Communicator> NewThreadedCommunicator(
    const std::function<std::unique_ptr<Communicator>()>& make, double start_timeout_s) {
  return std::make_unique<ThreadedCommunicator>(make, start_timeout_s);
}

}  // namespace gf
