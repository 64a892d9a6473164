#include "solvers/report/mlperf_log.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/folder.h"

namespace gf {
namespace {

using json = nlohmann::ordered_json;

// Epochs and settings that are whole numbers are written as such. FP32 settings are written as they
// were given: 0.1, not 0.10000000149.
json Number(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<int64_t>(value);
  return value;
}
double Shortest(float value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof(digits) - 1, value);
  *end.ptr = '\0';
  return std::strtod(digits, nullptr);
}
json Setting(float value) { return Number(Shortest(value)); }

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// MLPerf's name of the benchmark, or the net's.
std::string Benchmark(const std::string& net) {
  return net.rfind("resnet", 0) == 0 ? "resnet" : net;
}

}  // namespace

MlperfLog::MlperfLog(const std::string& path, bool resumed) {
  std::error_code error;
  if (!resumed && IsFile(path) && std::filesystem::file_size(path, error) > 0) {
    ThrowUserError("--mlperf_log: ", path,
                   " is not empty: name another file, or continue its run with --resume");
  }
  file_ = std::make_unique<OutputFile>(path, OutputFile::Mode::kAppend);
  // Nobody has emptied the system's caches of files.
  Write(Kind::kPoint, "cache_clear", false, json::object());
  Write(Kind::kStart, "init_start", nullptr, json::object());
}

MlperfLog::~MlperfLog() {
  if (in_run_) StopRun(/*complete=*/false);
}

void MlperfLog::Write(Kind kind, const char* key, const json& value, const json& metadata) {
  if (!file_) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  static constexpr const char* kKinds[] = {"POINT_IN_TIME", "INTERVAL_START", "INTERVAL_END"};
  json line;
  line["namespace"] = "";
  line["time_ms"] = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  line["event_type"] = kKinds[static_cast<int>(kind)];
  line["key"] = key;
  line["value"] = value;
  line["metadata"] = metadata;
  Attempt([&] {
    file_->Write(":::MLLOG " + line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
    file_->Flush();
  });
}

void MlperfLog::Attempt(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    PrintWarning("--mlperf_log: ", error.what(), ": the log is incomplete, training continues");
    file_ = nullptr;
  }
}

void MlperfLog::Settings(const JobDescription& job) {
  const auto say = [&](const std::string& key, const json& value) {
    Write(Kind::kPoint, key.c_str(), value, json::object());
  };
  const SolverConfig& solver = job.config.solver();
  const int batch = job.config.train_data().batch_size();
  const double images = static_cast<double>(job.batches.ImagesOf(0));
  say("submission_benchmark", Benchmark(job.net.name()));
  say("submission_org", "not submitted");
  say("submission_division", "closed");
  say("submission_status", "research");
  say("submission_platform", StrCat(job.comm.size(), " x ", job.device.Description()));
  say("seed", job.config.seed());
  say("global_batch_size", job.batches.ImagesOf(0));
  say("gradient_accumulation_steps", job.batches.IterSize(0));
  say("train_samples", job.train_data.size());
  say("eval_samples", job.validation_data ? job.validation_data->size() : 0);
  const int group =
      job.config.batch_norm_group() > 0 ? job.config.batch_norm_group() : job.comm.size();
  say("model_bn_span", int64_t{batch} * group);
  const std::string name = Lower(solver.type());
  const bool lars = name == "lars" || name == "larc";
  const std::string own = lars ? "lars_opt_" : name + "_opt_";
  say("opt_name", name);
  say(own + "base_learning_rate", solver.has_base_lr_per_256()
                                      ? Number(Shortest(solver.base_lr_per_256()) * images / 256)
                                      : Setting(solver.base_lr()));
  const auto policy = solver.lr_policy();
  if (policy == SolverConfig::POLY || policy == SolverConfig::COSINE) {
    say(own + "end_learning_rate", Setting(solver.end_lr()));
    say(own + "learning_rate_decay_steps",
        job.rate.max_steps() - (solver.decay_after_warmup() ? job.rate.warmup_steps() : 0));
  }
  if (policy == SolverConfig::POLY) {
    say(own + "learning_rate_decay_poly_power", Setting(solver.power()));
  }
  say(lars ? own + "learning_rate_warmup_epochs" : "opt_learning_rate_warmup_epochs",
      Number(job.batches.EpochsBefore(job.rate.warmup_steps())));
  if (name == "muon") {
    say(own + "momentum", Setting(solver.muon().momentum()));
  } else if (lars || name == "sgd") {
    say(own + "momentum", Setting(solver.momentum()));
  } else {
    say("opt_" + name + "_beta_1", Setting(solver.beta1()));
    say("opt_" + name + "_beta_2", Setting(solver.beta2()));
    say("opt_" + name + "_epsilon", Setting(solver.epsilon()));
  }
  say(own + "weight_decay", Setting(solver.weight_decay()));
  if (lars) say("lars_epsilon", Setting(solver.epsilon()));
}

void MlperfLog::StartRun(const JobDescription& job, double epoch) {
  Settings(job);
  last_epoch_ = job.batches.EpochsBefore(job.last_step);
  step_epochs_ = job.batches.EpochsBefore(1);
  const int64_t steps = job.config.validation_interval_steps();
  if (job.validation_data != nullptr) {
    interval_epochs_ =
        steps > 0 ? job.batches.EpochsBefore(steps) : job.config.validation_interval_epochs();
  }
  Write(Kind::kStop, "init_stop", nullptr, json::object());
  Write(Kind::kStart, "run_start", nullptr, json::object());
  in_run_ = true;
  StartBlock(epoch);
}

// Evaluations follow whole intervals from the beginning of the job on, not of the run.
double MlperfLog::EpochsToEvaluation(double epoch) const {
  const double left = last_epoch_ - epoch;
  if (interval_epochs_ <= 0) return left;
  const double intervals = std::floor((epoch + step_epochs_ / 2) / interval_epochs_) + 1;
  return std::min(left, intervals * interval_epochs_ - epoch);
}

void MlperfLog::StartBlock(double epoch) {
  if (last_epoch_ <= epoch) return;
  block_epoch_ = epoch;
  in_block_ = true;
  Write(
      Kind::kStart, "block_start", nullptr,
      {{"first_epoch_num", Number(epoch + 1)}, {"epoch_count", Number(EpochsToEvaluation(epoch))}});
}

void MlperfLog::StopBlock() {
  if (!in_block_) return;
  in_block_ = false;
  Write(Kind::kStop, "block_stop", nullptr, {{"first_epoch_num", Number(block_epoch_ + 1)}});
}

void MlperfLog::StartEvaluation(double epoch) {
  StopBlock();
  Write(Kind::kStart, "eval_start", nullptr, {{"epoch_num", Number(epoch)}});
}

void MlperfLog::StopEvaluation(double epoch, const Tally* tally) {
  const json where = {{"epoch_num", Number(epoch)}};
  if (tally != nullptr) {
    for (const Figure& figure : tally->Figures()) {
      if (figure.key == "top1" && figure.value) {
        Write(Kind::kPoint, "eval_accuracy", *figure.value, where);
      }
    }
  }
  Write(Kind::kStop, "eval_stop", nullptr, where);
  StartBlock(epoch);
}

void MlperfLog::StopRun(bool complete) {
  in_run_ = false;
  StopBlock();
  Write(Kind::kStop, "run_stop", nullptr, {{"status", complete ? "success" : "aborted"}});
  if (file_) Attempt([&] { file_->Close(); });
}

}  // namespace gf
