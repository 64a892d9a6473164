#include "tests/comm/flow/lost_rank/mortal_communicator.h"

#include <fnmatch.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <thread>
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
  MortalCommunicator(std::unique_ptr<Communicator> inner, const Death& death, double bytes_per_s)
      : inner_(std::move(inner)),
        death_(death),
        bytes_per_s_(bytes_per_s),
        due_(death.since.empty()) {
    SetRanks(inner_->rank(), inner_->hosts());
    SetTimeout(inner_->timeout_s());
  }

  void Run(const Collective& collective, const std::string& label) override {
    const bool last = IsLast(label);
    Collective mortal = collective;
    if (last && collective.sum) mortal.sum = std::make_shared<MortalSum>(collective.sum, death_);
    Do(last, [&] {
      if (bytes_per_s_ > 0) {
        const auto bytes = static_cast<double>(collective.count * SizeOf(collective.wire));
        std::this_thread::sleep_for(std::chrono::duration<double>(bytes / bytes_per_s_));
      }
      inner_->Run(mortal, label);
    });
  }

  void AllReduce(double* values, int64_t count, ReduceOp op, const std::string& label) override {
    Do(IsLast(label), [&] { inner_->AllReduce(values, count, op, label); });
  }
  void AllReduce(int64_t* values, int64_t count, ReduceOp op, const std::string& label) override {
    Do(IsLast(label), [&] { inner_->AllReduce(values, count, op, label); });
  }
  std::vector<std::string> AllGather(const std::string& mine, const std::string& label) override {
    std::vector<std::string> all;
    Do(IsLast(label), [&] { all = inner_->AllGather(mine, label); });
    return all;
  }
  void Broadcast(std::string* bytes, int root, const std::string& label) override {
    Do(IsLast(label), [&] { inner_->Broadcast(bytes, root, label); });
  }
  void Barrier(const std::string& label) override {
    Do(IsLast(label), [&] { inner_->Barrier(label); });
  }
  Watchdog* watchdog() override { return inner_->watchdog(); }
  void Await(Pending* pending) override { inner_->Await(pending); }
  void Finalize() override { inner_->Finalize(); }
  [[noreturn]] void Abort(int exit_code) override {
    inner_->Abort(exit_code);
    std::_Exit(exit_code);
  }

 private:
  // Whether this rank is to die at the collective that begins now.
  bool IsLast(const std::string& label) {
    if (due_) return fnmatch((death_.label + "*").c_str(), label.c_str(), 0) == 0;
    due_ = label.rfind(death_.since, 0) == 0;
    return false;
  }

  void Do(bool last, const std::function<void()>& collective) const {
    if (last && death_.moment == Death::kBefore) std::raise(death_.signal);
    collective();
    if (last && death_.moment == Death::kAfter) std::raise(death_.signal);
  }

  const std::unique_ptr<Communicator> inner_;
  const Death death_;
  const double bytes_per_s_;
  bool due_;  // the collective of `since` has begun
};

}  // namespace

std::unique_ptr<Communicator> NewMortalCommunicator(std::unique_ptr<Communicator> inner,
                                                    const Death& death, double bytes_per_s) {
  return std::make_unique<MortalCommunicator>(std::move(inner), death, bytes_per_s);
}

}  // namespace gf
