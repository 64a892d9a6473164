// gfbench allreduce: how long sums over the ranks take, in the manner of nccl-tests.

#include <gflags/gflags.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "comm/agree.h"
#include "comm/collective_runner.h"
#include "comm/flow/tuner.h"
#include "core/error.h"
#include "core/median.h"
#include "core/readable.h"
#include "tools/command.h"
#include "tools/gfbench/common_flags.h"
#include "tools/rank_main.h"

DEFINE_int64(min_bytes, 1024, "the smallest message");
DEFINE_int64(max_bytes, int64_t{64} << 20, "the largest message");
DEFINE_int64(factor, 4, "each message is `N` times as long as the one before");
DEFINE_string(algorithms, "", "comma-separated `NAMES`; by default all that fit, auto and mpi");
DEFINE_string(dtype, "FP32", "the `TYPE` of numbers in memory: FP32 or BF16");
DEFINE_string(wire, "",
              "the `TYPE` of numbers on the wire: FP32, BF16 or FP16; by default --dtype");
DEFINE_double(round_s, 0.2, "seconds that a round of one algorithm and size takes at least, about");
DEFINE_bool(check, true, "also check the sums");
DEFINE_double(timeout_s, 120, "deadline in seconds of every wait for other ranks");

namespace gf {
namespace {

using Clock = std::chrono::steady_clock;

DType TypeOf(const std::string& name, const char* flag) {
  for (DType type : {DType::kFP32, DType::kBF16, DType::kFP16}) {
    if (name == Name(type)) return type;
  }
  ThrowUserError("--", flag, "=", name, ": expected FP32, BF16 or FP16");
}

// The names in --algorithms.
std::vector<std::string> AlgorithmsOfFlag() {
  std::vector<std::string> algorithms;
  std::istringstream names(FLAGS_algorithms);
  for (std::string name; std::getline(names, name, ',');) algorithms.push_back(name);
  return algorithms;
}

class Benchmark {
 public:
  explicit Benchmark(Communicator* comm)
      : comm_(comm),
        dtype_(TypeOf(FLAGS_dtype, "dtype")),
        wire_(FLAGS_wire.empty() ? dtype_ : TypeOf(FLAGS_wire, "wire")) {
    if (dtype_ == DType::kFP16) ThrowUserError("--dtype=FP16: expected FP32 or BF16");
    if (algorithms_.empty()) {
      algorithms_.push_back("auto");
      for (const std::string& name : AlgorithmRegistry::Get().Keys()) {
        const auto algorithm = AlgorithmRegistry::Get().Create("algorithm", name);
        if (algorithm->Fits(TopologyOf(comm->hosts()))) algorithms_.push_back(name);
      }
    }
    if (wire_ != DType::kFP16 && FLAGS_algorithms.empty()) {
      algorithms_.push_back("native");
      algorithms_.push_back("mpi");
    }
    for (const std::string& name : algorithms_) {
      CommConfig config;
      config.set_algorithm(name);
      choices_.emplace_back(config, false, comm);
      choices_.back().Measure(FLAGS_max_bytes, dtype_, wire_, comm);
    }
    const int64_t most = FLAGS_max_bytes / static_cast<int64_t>(SizeOf(wire_));
    vector_.resize(most * SizeOf(dtype_));
  }

  int Run() {
    const int world = comm_->size();
    if (comm_->rank() == 0) {
      std::printf("%d ranks on %zu hosts, %s in memory, %s on the wire\n\n", world,
                  static_cast<size_t>(*std::max_element(topology_.begin(), topology_.end()) + 1),
                  Name(dtype_), Name(wire_));
      std::printf("%12s  %-20s %-20s %12s %10s %10s %7s %8s\n", "bytes", "algorithm", "", "us",
                  "algbw MB/s", "busbw MB/s", "wrong", "vs mpi");
    }
    int64_t wrong = 0;
    for (int64_t bytes = FLAGS_min_bytes; bytes <= FLAGS_max_bytes; bytes *= FLAGS_factor) {
      wrong += Size(bytes);
    }
    if (comm_->rank() == 0) WriteJson(results_);
    if (comm_->rank() == 0 && worst_choice_ > 0) {
      std::printf("\nauto takes at most %.2f times the best algorithm's time (at %s bytes)\n",
                  worst_choice_, WithCommas(worst_bytes_).c_str());
    }
    if (wrong > 0 && comm_->rank() == 0) std::printf("%ld WRONG SUMS\n", static_cast<long>(wrong));
    return wrong > 0 ? 1 : 0;
  }

 private:
  Collective Of(int64_t bytes, const std::string& algorithm) {
    Collective collective;
    collective.data = vector_.data();
    collective.count = bytes / static_cast<int64_t>(SizeOf(wire_));
    collective.dtype = dtype_;
    collective.wire = wire_;
    collective.algorithm = algorithm;
    return collective;
  }

  // Wrong elements on any rank.
  int64_t Check(const Collective& c) {
    const auto value = [](int64_t i, int rank) { return static_cast<float>((i + rank) % 5) - 2; };
    const auto floats = reinterpret_cast<float*>(c.data);
    const auto halves = reinterpret_cast<uint16_t*>(c.data);
    for (int64_t i = 0; i < c.count; ++i) {
      const float v = value(i, comm_->rank());
      if (dtype_ == DType::kFP32) {
        floats[i] = v;
      } else {
        halves[i] = ToBF16(v);
      }
    }
    comm_->Await(comm_->Start(c, "check").get());
    int64_t wrong = 0;
    for (int64_t i = 0; i < c.count; ++i) {
      float sum = 0;
      for (int r = 0; r < comm_->size(); ++r) sum += value(i, r);
      wrong += (dtype_ == DType::kFP32 ? floats[i] : FromBF16(halves[i])) != sum;
    }
    std::memset(c.data, 0, c.count * SizeOf(dtype_));
    comm_->AllReduce(&wrong, 1, ReduceOp::kSum, "wrong sums");
    return wrong;
  }

  // Seconds per message on the slowest rank.
  double Time(const Collective& c, int64_t messages) {
    comm_->Barrier("round");
    const auto start = Clock::now();
    std::shared_ptr<Pending> last;
    for (int64_t i = 0; i < messages; ++i) last = comm_->Start(c, "benchmark");
    comm_->Await(last.get());
    double seconds =
        std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(messages);
    comm_->AllReduce(&seconds, 1, ReduceOp::kMax, "seconds");
    return seconds;
  }

  // Compares auto with the best of those that it chooses from; times by round.
  void JudgeChoice(int64_t bytes, const std::vector<std::vector<double>>& seconds) {
    size_t chosen = algorithms_.size(), best = chosen;
    for (size_t i = 0; i < algorithms_.size(); ++i) {
      if (algorithms_[i] == "auto") {
        chosen = i;
      } else if (algorithms_[i] == "mpi") {
        continue;
      } else if (best == algorithms_.size() || Median(seconds[i]) < Median(seconds[best])) {
        best = i;
      }
    }
    if (chosen == algorithms_.size() || best == algorithms_.size()) return;
    std::vector<double> ratios;
    for (size_t k = 0; k < seconds[best].size(); ++k) {
      ratios.push_back(seconds[chosen][k] / seconds[best][k]);
    }
    if (Median(ratios) <= worst_choice_) return;
    worst_choice_ = Median(ratios);
    worst_bytes_ = bytes;
  }

  int64_t Size(int64_t bytes) {
    std::vector<Collective> collectives;
    std::vector<int64_t> wrong, messages;
    for (const AlgorithmChoice& choice : choices_) {
      const Collective c = Of(bytes, choice.For(bytes));
      collectives.push_back(c);
      wrong.push_back(FLAGS_check ? Check(c) : 0);
      const double once = Time(c, 1);
      messages.push_back(std::clamp<int64_t>(FLAGS_round_s / once, 1, 1000));
    }
    std::vector<std::vector<double>> seconds(choices_.size());
    for (int round = 0; round < FLAGS_rounds; ++round) {
      for (size_t i = 0; i < choices_.size(); ++i) {
        seconds[i].push_back(Time(collectives[i], messages[i]));
      }
    }
    const auto mpi = std::find(algorithms_.begin(), algorithms_.end(), "mpi");
    for (size_t i = 0; i < choices_.size(); ++i) {
      const double time = Median(seconds[i]), world = comm_->size();
      const double algbw = static_cast<double>(bytes) / time;
      const double busbw = algbw * 2 * (world - 1) / world;
      std::string versus = "-";
      nlohmann::ordered_json result = {{"bytes", bytes},
                                       {"algorithm", algorithms_[i]},
                                       {"used", collectives[i].algorithm},
                                       {"seconds", time},
                                       {"algbw", algbw},
                                       {"busbw", busbw},
                                       {"wrong", wrong[i]}};
      if (mpi != algorithms_.end()) {
        const auto& peer = seconds[mpi - algorithms_.begin()];
        std::vector<double> ratios;
        for (size_t k = 0; k < peer.size(); ++k) ratios.push_back(peer[k] / seconds[i][k]);
        char text[16];
        std::snprintf(text, sizeof(text), "%.2f", Median(ratios));
        versus = text;
        result["versus_mpi"] = Median(ratios);
      }
      if (comm_->rank() == 0) {
        const std::string used =
            collectives[i].algorithm == algorithms_[i] ? "" : "(" + collectives[i].algorithm + ")";
        std::printf("%12s  %-20s %-20s %12.1f %10.1f %10.1f %7s %8s\n", WithCommas(bytes).c_str(),
                    algorithms_[i].c_str(), used.c_str(), time * 1e6, algbw / 1e6, busbw / 1e6,
                    FLAGS_check ? std::to_string(wrong[i]).c_str() : "-", versus.c_str());
        std::fflush(stdout);
      }
      results_.push_back(std::move(result));
    }
    JudgeChoice(bytes, seconds);
    int64_t total = 0;
    for (int64_t w : wrong) total += w;
    return total;
  }

  Communicator* const comm_;
  const std::vector<int> topology_ = TopologyOf(comm_->hosts()).node;
  const DType dtype_, wire_;
  std::vector<std::string> algorithms_ = AlgorithmsOfFlag();
  std::vector<AlgorithmChoice> choices_;
  std::vector<char> vector_;
  nlohmann::ordered_json results_ = nlohmann::ordered_json::array();
  double worst_choice_ = 0;  // the largest ratio of auto's time to the best, and its size
  int64_t worst_bytes_ = 0;
};

class AllReduceBenchmark : public Command {
 public:
  FlagSpec Spec() const override {
    FlagSpec spec;
    spec.summary = "times sums over the ranks for each size and algorithm.";
    spec.usage = {"mpirun -n RANKS gfbench allreduce [FLAGS]"};
    spec.examples = {
        "mpirun -n 2 gfbench allreduce --max_bytes=1048576 --algorithms=auto,ring,mpi"};
    spec.groups = {
        {"Messages", {"min_bytes", "max_bytes", "factor", "algorithms", "dtype", "wire"}},
        {"Rounds", {"rounds", "round_s", "check", "timeout_s"}},
        CommonFlags()};
    spec.notes =
        "Messages are started one after the other and waited for at the end; bytes are bytes on "
        "the wire. algbw is bytes / time; busbw = algbw * 2 (N - 1) / N is what a link must carry, "
        "for any number N of ranks. The last column is the speed relative to mpi (MPI_Allreduce), "
        "the median over rounds in which the algorithms take turns. --steps, --warmup and "
        "--threads have no effect.\n";
    return spec;
  }

  bool tells_mistakes() const override { return true; }

  int Run(const Arguments& arguments) override {
    const auto check = [] {
      CheckFlags();
      return FLAGS_timeout_s;
    };
    return CheckAndRunOnRanks(arguments, check, [](Communicator* comm) {
      if (comm->size() == 1) ThrowUserError("one rank has nobody to talk to: use mpirun -n 2");
      RunOnRankZero(comm, "--json", CheckJsonFile);
      return Benchmark(comm).Run();
    });
  }

 private:
  static void CheckFlags() {
    CheckCommonFlags();
    if (FLAGS_min_bytes < 4 || FLAGS_max_bytes < FLAGS_min_bytes || FLAGS_factor < 2 ||
        FLAGS_rounds < 1) {
      ThrowUserError(
          "expected 4 <= --min_bytes <= --max_bytes, --factor of at least 2, --rounds "
          "of at least 1");
    }
    for (const std::string& name : AlgorithmsOfFlag()) CheckAlgorithm("--algorithms", name);
  }
};

GF_REGISTER(CommandRegistry, "allreduce", AllReduceBenchmark);

}  // namespace
}  // namespace gf
