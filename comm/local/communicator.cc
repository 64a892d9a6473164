#include "comm/local/communicator.h"

#include <glog/logging.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "comm/collective_runner.h"
#include "comm/local/transport.h"
#include "comm/threaded.h"
#include "core/error.h"

namespace gf {
namespace {

// What the ranks share. A collective is: post an address and a length, meet, read or write each
// other's memory, meet again.
class LocalWorld {
 public:
  LocalWorld(std::vector<std::string> hosts, double timeout_s)
      : hosts_(std::move(hosts)),
        timeout_s_(timeout_s),
        posts_(hosts_.size()),
        arrived_(hosts_.size()),
        mail_(NewLocalMail(hosts_, timeout_s)) {}

  struct Post {
    void* data = nullptr;
    int64_t length = 0;
  };

  const std::vector<std::string>& hosts() const { return hosts_; }
  double timeout_s() const { return timeout_s_; }
  const Post& post(int rank) const { return posts_[rank]; }
  const std::shared_ptr<LocalMail>& mail() const { return mail_; }

  void Meet(int rank, Post post, const std::string& operation) {
    posts_[rank] = post;
    Meet(rank, operation);
  }

  // Returns when all ranks are here.
  void Meet(int rank, const std::string& operation) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!broken_.empty()) throw CommError(broken_);
    arrived_[rank] = true;
    const int64_t meeting = meeting_;
    if (std::find(arrived_.begin(), arrived_.end(), false) == arrived_.end()) {
      std::fill(arrived_.begin(), arrived_.end(), false);
      ++meeting_;
      changed_.notify_all();
      return;
    }
    const auto over = [&] { return meeting_ != meeting || !broken_.empty(); };
    if (!changed_.wait_for(lock, std::chrono::duration<double>(timeout_s_), over)) {
      std::vector<int> missing;
      for (size_t i = 0; i < arrived_.size(); ++i) {
        if (!arrived_[i]) missing.push_back(static_cast<int>(i));
      }
      broken_ = StrCat(RankName(rank, hosts_), " waited ", timeout_s_, " s in ", operation,
                       "; missing: ", RankList(missing), " (comm.timeout_s: ", timeout_s_, ")");
      changed_.notify_all();
    }
    if (meeting_ == meeting) throw CommError(broken_);
  }

  // Ends every collective with an error.
  void Break(const std::string& why) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (broken_.empty()) broken_ = why;
      changed_.notify_all();
    }
    BreakLocalMail(mail_.get(), why);
  }

 private:
  const std::vector<std::string> hosts_;
  const double timeout_s_;
  std::vector<Post> posts_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> arrived_;
  int64_t meeting_ = 0;
  std::string broken_;
  const std::shared_ptr<LocalMail> mail_;
};

class LocalWatchdog : public Watchdog {
 public:
  LocalWatchdog(int rank, LocalWorld* world) : rank_(rank), world_(world) {}

  void Cancel() override { world_->Break(StrCat(RankName(rank_, world_->hosts()), " gave up")); }

 private:
  const int rank_;
  LocalWorld* const world_;
};

class LocalCommunicator : public Communicator {
 public:
  LocalCommunicator(int rank, std::shared_ptr<LocalWorld> world)
      : world_(std::move(world)),
        transport_(NewLocalTransport(rank, world_->mail())),
        runner_(transport_.get(), world_->hosts()),
        watchdog_(rank, world_.get()) {
    SetRanks(rank, world_->hosts());
    SetTimeout(world_->timeout_s());
  }

  Watchdog* watchdog() override { return &watchdog_; }

  void Run(const Collective& c, const std::string& label) override {
    const bool own = c.algorithm == "native" || c.algorithm == "mpi";
    if (!own || c.kind != Collective::kAllReduce || c.wire != c.dtype) {
      Collective plan = c;
      if (own) plan.algorithm = "ring";
      return runner_.Run(plan, StrCat(NameOf(c.kind), " of ", label));
    }
    CHECK(c.dtype == DType::kFP32 || c.dtype == DType::kBF16) << Name(c.dtype);
    if (c.dtype == DType::kFP32) {
      Reduce<float>(c.data, c.count, label, [](float a, float b) { return a + b; });
    } else {
      Reduce<uint16_t>(c.data, c.count, label,
                       [](uint16_t a, uint16_t b) { return ToBF16(FromBF16(a) + FromBF16(b)); });
    }
  }

  void AllReduce(double* values, int64_t count, ReduceOp op, const std::string& label) override {
    ReduceBy<double>(values, count, op, label);
  }
  void AllReduce(int64_t* values, int64_t count, ReduceOp op, const std::string& label) override {
    ReduceBy<int64_t>(values, count, op, label);
  }

  std::vector<std::string> AllGather(const std::string& mine, const std::string& label) override {
    const std::string operation = "allgather of " + label;
    world_->Meet(rank(), {const_cast<char*>(mine.data()), static_cast<int64_t>(mine.size())},
                 operation);
    std::vector<std::string> all;
    for (int i = 0; i < size(); ++i) {
      const auto& post = world_->post(i);
      all.emplace_back(static_cast<const char*>(post.data), post.length);
    }
    world_->Meet(rank(), operation);
    return all;
  }

  void Broadcast(std::string* bytes, int root, const std::string& label) override {
    std::vector<std::string> all = AllGather(rank() == root ? *bytes : "", label);
    *bytes = std::move(all[root]);
  }

  void Barrier(const std::string& label) override { world_->Meet(rank(), "barrier: " + label); }

  void Finalize() override {}

  [[noreturn]] void Abort(int exit_code) override {
    const std::string why =
        StrCat(RankName(rank(), hosts()), " ended the job with exit code ", exit_code);
    world_->Break(why);
    throw CommError(why);
  }

 private:
  template <typename T, typename Add>
  void Reduce(void* data, int64_t count, const std::string& label, const Add& add) {
    const std::string operation = "allreduce of " + label;
    world_->Meet(rank(), {data, count}, operation);
    // Each rank sums one slice for all.
    const int64_t begin = count * rank() / size(), end = count * (rank() + 1) / size();
    for (int i = 0; i < size(); ++i) CHECK_EQ(world_->post(i).length, count) << operation;
    for (int64_t k = begin; k < end; ++k) {
      T sum = static_cast<T*>(world_->post(0).data)[k];
      for (int i = 1; i < size(); ++i) sum = add(sum, static_cast<T*>(world_->post(i).data)[k]);
      for (int i = 0; i < size(); ++i) static_cast<T*>(world_->post(i).data)[k] = sum;
    }
    world_->Meet(rank(), operation);
  }

  template <typename T>
  void ReduceBy(T* values, int64_t count, ReduceOp op, const std::string& label) {
    Reduce<T>(values, count, label, [op](T a, T b) {
      return op == ReduceOp::kSum ? a + b : op == ReduceOp::kMin ? std::min(a, b) : std::max(a, b);
    });
  }

  std::shared_ptr<LocalWorld> world_;
  std::unique_ptr<Transport> transport_;
  CollectiveRunner runner_;
  LocalWatchdog watchdog_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> NewLocalCommunicators(
    const std::vector<std::string>& hosts, double timeout_s) {
  const auto world = std::make_shared<LocalWorld>(hosts, timeout_s);
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (size_t i = 0; i < hosts.size(); ++i) {
    ranks.push_back(std::make_unique<LocalCommunicator>(static_cast<int>(i), world));
  }
  return ranks;
}

void RunLocal(int size, double timeout_s, const std::function<void(Communicator*)>& body) {
  RunLocal(std::vector<std::string>(size, "local"), timeout_s, body);
}

void RunLocal(const std::vector<std::string>& hosts, double timeout_s,
              const std::function<void(Communicator*)>& body) {
  const int size = static_cast<int>(hosts.size());
  const auto world = std::make_shared<LocalWorld>(hosts, timeout_s);
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (int i = 0; i < size; ++i) {
    threads.emplace_back([&, i] {
      const auto comm =
          NewThreadedCommunicator([&] { return std::make_unique<LocalCommunicator>(i, world); });
      try {
        body(comm.get());
      } catch (const std::exception& e) {
        std::lock_guard<std::mutex> lock(mutex);
        if (!first) first = std::current_exception();
        world->Break(StrCat(RankName(i, world->hosts()), " failed: ", e.what()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace gf
