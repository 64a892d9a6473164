#include "tools/gfbench/measure.h"

#include <benchmark/benchmark.h>
#include <glog/logging.h>

#include <exception>
#include <vector>

namespace gf {
namespace {

// Keeps the medians; with one repetition Google Benchmark reports only the run itself.
class MedianReporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      const bool median = run.run_type == Run::RT_Aggregate && run.aggregate_name == "median";
      if (!median && run.repetitions != 1) continue;
      measured_.seconds =
          run.GetAdjustedRealTime() / benchmark::GetTimeUnitMultiplier(run.time_unit);
      for (const auto& counter : run.counters) measured_.parts[counter.first] = counter.second;
    }
  }

  const Measured& measured() const { return measured_; }

 private:
  Measured measured_;
};

}  // namespace

Measured Measure(const std::string& name, int iterations, int repetitions,
                 const std::function<double(Parts*)>& body) {
  CHECK_GE(iterations, 1);
  CHECK_GE(repetitions, 1);
  std::exception_ptr error;
  const auto run = [&](benchmark::State& state) {
    Parts parts;
    for (auto unused : state) {
      static_cast<void>(unused);
      try {
        state.SetIterationTime(error ? 0 : body(&parts));
      } catch (...) {
        error = std::current_exception();
        state.SkipWithError("stopped by an error");
        break;
      }
    }
    for (const auto& part : parts) {
      state.counters[part.first] =
          benchmark::Counter(part.second, benchmark::Counter::kAvgIterations);
    }
  };
  benchmark::RegisterBenchmark(name.c_str(), run)
      ->UseManualTime()
      ->Iterations(iterations)
      ->Repetitions(repetitions);
  MedianReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter, ".");
  benchmark::ClearRegisteredBenchmarks();
  if (error) std::rethrow_exception(error);
  return reporter.measured();
}

}  // namespace gf
