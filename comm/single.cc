#include "comm/single.h"

#include <cstdio>
#include <cstdlib>

namespace gf {
namespace {

class SingleCommunicator : public Communicator {
 public:
  SingleCommunicator() { SetRanks(0, {HostName()}); }

  void Run(const Collective& c, const std::string&) override {
    if (c.kind == Collective::kEncodedSum) c.sum->OnHost(static_cast<float*>(c.data));
  }
  void AllReduce(double*, int64_t, ReduceOp, const std::string&) override {}
  void AllReduce(int64_t*, int64_t, ReduceOp, const std::string&) override {}
  std::vector<std::string> AllGather(const std::string& mine, const std::string&) override {
    return {mine};
  }
  void Broadcast(std::string*, int, const std::string&) override {}
  void Barrier(const std::string&) override {}
  void Finalize() override {}
  [[noreturn]] void Abort(int exit_code) override {
    std::fflush(nullptr);
    std::_Exit(exit_code);
  }
};

}  // namespace

std::unique_ptr<Communicator> NewSingleCommunicator() {
  return std::make_unique<SingleCommunicator>();
}

}  // namespace gf
