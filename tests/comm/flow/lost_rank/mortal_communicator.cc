#include "tests/comm/flow/lost_rank/mortal_communicator.h"

#include <csignal>
#include <cstdlib>
#include <utility>
#include <vector>

namespace gf {
namespace {

class MortalSum : public EncodedSum {
 public:
  MortalSum(std::shared_ptr<const EncodedSum> inner, const Death& death)
      : inner_(std::move(inner)), death_(death) {}

  void OnHost(float* messages) const override {
    if (death_.moment == Death::kInside) std::raise(death_.signal);
    inner_->OnHost(messages);
    if (death_.moment == Death::kHalfway) std::raise(death_.signal);
  }
  void OnDevice(float* messages, Stream* stream) const override {
    inner_->OnDevice(messages, stream);
  }

 private:
  const std::shared_ptr<const EncodedSum> inner_;
  const Death death_;
};

class MortalCommunicator : public Communicator {
 public:
  MortalCommunicator(std::unique_ptr<Communicator> inner, const Death& death)
      : inner_(std::move(inner)), death_(death) {
    SetRanks(inner_->rank(), inner_->hosts());
    SetTimeout(inner_->timeout_s());
  }

  void Run(const Collective& collective, const std::string& label) override {
    if (label.rfind(death_.label, 0) != 0) return inner_->Run(collective, label);
    if (death_.moment == Death::kBefore) std::raise(death_.signal);
    Collective mortal = collective;
    if (collective.sum) mortal.sum = std::make_shared<MortalSum>(collective.sum, death_);
    inner_->Run(mortal, label);
    if (death_.moment == Death::kAfter) std::raise(death_.signal);
  }

  void AllReduce(double* values, int64_t count, ReduceOp op, const std::string& label) override {
    inner_->AllReduce(values, count, op, label);
  }
  void AllReduce(int64_t* values, int64_t count, ReduceOp op, const std::string& label) override {
    inner_->AllReduce(values, count, op, label);
  }
  std::vector<std::string> AllGather(const std::string& mine, const std::string& label) override {
    return inner_->AllGather(mine, label);
  }
  void Broadcast(std::string* bytes, int root, const std::string& label) override {
    inner_->Broadcast(bytes, root, label);
  }
  void Barrier(const std::string& label) override { inner_->Barrier(label); }
  Watchdog* watchdog() override { return inner_->watchdog(); }
  void Await(Pending* pending) override { inner_->Await(pending); }
  void Finalize() override { inner_->Finalize(); }
  [[noreturn]] void Abort(int exit_code) override {
    inner_->Abort(exit_code);
    std::_Exit(exit_code);
  }

 private:
  const std::unique_ptr<Communicator> inner_;
  const Death death_;
};

}  // namespace

std::unique_ptr<Communicator> NewMortalCommunicator(std::unique_ptr<Communicator> inner,
                                                    const Death& death) {
  return std::make_unique<MortalCommunicator>(std::move(inner), death);
}

}  // namespace gf
