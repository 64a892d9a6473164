#include "solvers/report/announce.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/readable.h"
#include "solvers/report/config_table.h"

namespace gf {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

void AddMachines(const JobDescription& job, Rows* rows) {
  const std::set<std::string> hosts(job.comm.hosts().begin(), job.comm.hosts().end());
  rows->emplace_back("deterministic", job.deterministic ? "yes" : "no");
  rows->emplace_back("ranks", StrCat(job.comm.size(), " on ", Counted(hosts.size(), "host")));
  rows->emplace_back("processor", job.device.Description());
}

void AddData(const JobDescription& job, Rows* rows) {
  rows->emplace_back("training data", job.train_data.Describe());
  if (job.validation_data != nullptr) {
    rows->emplace_back("validation data", job.validation_data->Describe());
  }
  rows->emplace_back("decoding threads per rank", StrCat(job.train_data.workers()));
  if (const int64_t places = job.train_data.device_places()) {
    const auto bytes = static_cast<double>(places * job.train_data.image_bytes());
    rows->emplace_back("images kept on the device",
                       StrCat("up to ", WithCommas(places), " per rank, ", HumanBytes(bytes)));
  }
}

void AddNet(const JobDescription& job, Rows* rows) {
  const Net& net = job.net;
  const PoolLayout& layout = net.parameters()->layout();
  rows->emplace_back("network", StrCat(net.name(), ", input ", net.input_shape().ToString(), ", ",
                                       Counted(net.classes(), "class", "classes")));
  rows->emplace_back("parameters", StrCat(WithCommas(layout.parameter_count()), " in ",
                                          Counted(layout.entries().size(), "tensor")));
  if (const int64_t frozen = net.parameters()->frozen_layout().parameter_count()) {
    rows->emplace_back("frozen parameters", WithCommas(frozen));
  }
  rows->emplace_back("memory of activations",
                     StrCat(HumanBytes(static_cast<double>(net.arena_bytes())), " per rank"));
  rows->emplace_back("allreduce", job.flow.Describe());
}

void AddSteps(const JobDescription& job, Rows* rows) {
  const int64_t images_per_step = job.batches.ImagesOf(0);
  const auto images = static_cast<double>(job.train_data.size());
  rows->emplace_back("images per step",
                     WithCommas(images_per_step) + (job.batches.constant() ? "" : " at first"));
  rows->emplace_back("steps per epoch", StrCat(images / static_cast<double>(images_per_step)));
  rows->emplace_back("steps", StrCat(WithCommas(job.rate.max_steps()), ", warm-up ",
                                     WithCommas(job.rate.warmup_steps())));
  if (job.last_step < job.rate.max_steps()) {
    rows->emplace_back("stops after step", WithCommas(job.last_step));
  }
}

}  // namespace

void Announce(const JobDescription& job, Report* report) {
  JobConfig config = job.config;
  config.set_threads(job.threads);
  Rows all = ConfigTable(config);
  Rows shown = job.verbose ? all : ChangedSettings(config);
  const size_t left_out = all.size() - shown.size();
  for (Rows* rows : {&all, &shown}) {
    AddMachines(job, rows);
    AddData(job, rows);
    AddNet(job, rows);
    AddSteps(job, rows);
  }
  report->Start(all, shown);
  if (left_out > 0) {
    report->Note(StrCat("  ", Counted(left_out, "setting"), " left at ",
                        left_out == 1 ? "its default" : "their defaults",
                        ": --verbose lists all settings"));
  }
}

}  // namespace gf
