#include "tools/dry_run.h"

#include <memory>
#include <vector>

#include "comm/flow/gradient_flow.h"
#include "core/config/config.h"
#include "core/config/ignored_fields.h"
#include "core/config/job_checks.h"
#include "core/config/solver_facts.h"
#include "core/device.h"
#include "core/error.h"
#include "core/host_memory.h"
#include "core/readable.h"
#include "core/telemetry/table.h"
#include "data/augment/augment.h"
#include "data/formats/record_source.h"
#include "data/loader/loader.h"
#include "models/job_net.h"
#include "models/net.h"
#include "solvers/batch_schedule.h"
#include "solvers/lr_policy.h"
#include "solvers/parameter_rules.h"
#include "solvers/train/advice.h"
#include "solvers/train/data_and_net.h"
#include "tools/image_shape.h"

namespace gf {
namespace {

template <typename T>
std::string JoinAll(const std::vector<T>& items, const std::string& separator,
                    std::string (*name)(const T&)) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i) text += (i ? separator : "") + name(items[i]);
  return text;
}

std::string Name(const std::string& text) { return text; }
std::string Name(const Shape& shape) { return shape.ToString(); }
std::string Name(const Layout& layout) { return layout.Name(); }

std::string Flops(int64_t flops) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", static_cast<double>(flops) * 1e-9);
  return flops == 0 ? "" : text;
}

void PrintLayers(const Net& net, FILE* out) {
  Table table({"layer", "type", "bottoms", "tops", "shapes", "layout", ">parameters", ">GFLOP"});
  int64_t flops = 0;
  for (const NetOp& op : net.ops()) {
    flops += op.forward_flops;
    table.Add({op.name, op.type, JoinAll<std::string>(op.bottoms, ",", Name),
               JoinAll<std::string>(op.tops, ",", Name), JoinAll<Shape>(op.top_shapes, ",", Name),
               JoinAll<Layout>(op.top_layouts, ",", Name),
               op.parameter_count == 0 ? "" : WithCommas(op.parameter_count),
               Flops(op.forward_flops)});
  }
  table.Print(out);
  std::fprintf(out, "\n  forward: %s GFLOP per batch of %lld\n", Flops(flops).c_str(),
               static_cast<long long>(net.input_shape()[0]));
  for (const std::string& line : net.Unfused()) {
    std::fprintf(out, "  not fused: %s\n", line.c_str());
  }
}

double BytesOf(const Tensor& pool) { return static_cast<double>(pool.desc.bytes()); }

// Of the moving average of the weights.
double AverageBytes(const ParameterStore& store) {
  const ParameterStore& average = *store.average();
  return BytesOf(average.master()) + (average.has_own_compute() ? BytesOf(average.compute()) : 0);
}

double FrozenBytes(const ParameterStore& store) {
  const Tensor& compute = store.frozen_compute();
  return BytesOf(store.frozen_master()) +
         (compute.desc.dtype == DType::kFP32 ? 0 : BytesOf(compute));
}

// Of the solver's state and work memory. `config`: null for a net without a job.
double SolverBytes(const JobConfig* config, const Net& net, const Device& device) {
  if (config == nullptr || !net.parameters()->has_gradients()) return 0;
  return UpdateMemory(config->solver(), net.parameters()->layout(), !device.shares_host_memory());
}

// Says that this host cannot run what is planned.
void WarnOfMemory(const Net& net, double solver_bytes, const Device& device) {
  if (!device.shares_host_memory()) return;
  const ParameterStore& store = *net.parameters();
  double bytes = static_cast<double>(net.arena_bytes() + net.kept_bytes()) +
                 BytesOf(store.master()) + FrozenBytes(store);
  if (store.has_own_compute()) bytes += BytesOf(store.compute());
  if (store.has_gradients()) bytes += BytesOf(store.gradient());
  if (store.average()) bytes += AverageBytes(store);
  bytes += solver_bytes;
  const double memory = HostMemory();
  if (bytes <= memory) return;
  PrintWarning("activations, parameters and solver take ", HumanBytes(bytes),
               ", but this process can have ", HumanBytes(memory),
               ": the net cannot run here; lower batch_size, or use a host with more memory");
}

void PrintMemory(const Net& net, double solver_bytes, FILE* out) {
  const ParameterStore& store = *net.parameters();
  const auto megabytes = [](const Tensor& pool) { return HumanBytes(BytesOf(pool)); };
  const int64_t frozen = store.frozen_layout().parameter_count();
  PrintTable(
      {{"parameters",
        StrCat(WithCommas(store.layout().parameter_count()), " in ",
               Counted(store.layout().entries().size(), "tensor"),
               frozen == 0 ? "" : StrCat(", and ", WithCommas(frozen), " frozen parameters"))},
       {"states", WithCommas(store.state_layout().parameter_count())},
       {"activations", StrCat(HumanBytes(static_cast<double>(net.arena_bytes())), " (",
                              HumanBytes(static_cast<double>(net.arena_bytes_without_reuse())),
                              " without reuse)")},
       {"master weights", megabytes(store.master())},
       {"compute weights",
        store.has_own_compute() ? megabytes(store.compute()) : "the master weights"},
       {"frozen weights", frozen > 0 ? HumanBytes(FrozenBytes(store)) : "none"},
       {"transformed weights",
        net.kept_bytes() > 0 ? HumanBytes(static_cast<double>(net.kept_bytes())) : "none"},
       {"gradients", store.has_gradients() ? megabytes(store.gradient()) : "none"},
       {"solver state", solver_bytes > 0        ? HumanBytes(solver_bytes)
                        : store.has_gradients() ? "unknown without --config"
                                                : "none"},
       {"average weights", store.average() ? HumanBytes(AverageBytes(store)) : "none"}},
      out);
}

void PrintPool(const PoolLayout& layout, FILE* out) {
  Table table({"pool entry", "shape", "layout", ">offset", ">elements", ">lr_mult", ">decay_mult"});
  for (const PoolEntry& entry : layout.entries()) {
    table.Add({entry.name, entry.shape.ToString(), entry.layout.Name(), WithCommas(entry.offset),
               WithCommas(entry.count), StrCat(entry.lr_mult), StrCat(entry.decay_mult)});
  }
  table.Print(out);
}

void PrintBuckets(const ParameterStore& store, const CommConfig& config, Communicator* comm,
                  FILE* out) {
  const DType wire = WireTypeOf(config, store.gradient().desc.dtype);
  const std::vector<Bucket> plan =
      CutBuckets(store.layout(), static_cast<int64_t>(SizeOf(wire)), ThresholdsOf(config));
  Table table({">bucket", ">offset", ">elements", "bytes", "from", "to"});
  for (size_t i = 0; i < plan.size(); ++i) {
    const Bucket& bucket = plan[i];
    const double bytes = static_cast<double>(bucket.count) * static_cast<double>(SizeOf(wire));
    table.Add({StrCat(i), WithCommas(bucket.offset), WithCommas(bucket.count), HumanBytes(bytes),
               store.layout().entries()[bucket.first_entry].name,
               store.layout().entries()[bucket.last_entry].name});
  }
  std::fprintf(out, "  %s: %s of %s on %s%s\n", CommConfig::Mode_Name(config.mode()).c_str(),
               Counted(plan.size(), "bucket").c_str(), Name(wire),
               Counted(comm->size(), "rank").c_str(),
               comm->size() == 1 ? " (nothing travels)" : "");
  table.Print(out);
}

// C, H, W of a config's images; opens the data only where the config leaves it to them.
Shape ImageShape(const DataConfig& data, Phase phase) {
  const Shape shape = ImageShapeOf(data);
  if (shape.rank() > 0) return shape;
  DataConfig plain = data;
  plain.clear_cache_mib();
  plain.clear_cache_file();
  plain.clear_device_cache_mib();
  // Only the size of an image is wanted.
  plain.set_batch_size(1);
  plain.set_prefetch(1);
  plain.set_workers(1);
  LoaderOptions options;
  options.mode = phase == TRAIN ? LoaderOptions::kTrain : LoaderOptions::kEvaluate;
  return Loader(plain, options).image_shape();
}

// The labels of a phase. The data are opened where they alone say how many classes there are.
LabelConfig PlannedLabels(const JobConfig& config, Phase phase) {
  LabelConfig labels = LabelsOf(config, phase);
  if (labels.type() == LabelConfig::CLASS || labels.count() > 0) return labels;
  const DataConfig& data = config.train_data();
  const auto source = OpenSource(DataConfig::Format_Name(data.format()), SourceOptionsOf(data));
  labels.set_count(static_cast<int32_t>(source->classes()));
  return labels;
}

// What validation would refuse of the net.
void CheckValidation(const JobConfig& config, const NetSource& source, const Net& net,
                     Device* device, Communicator* comm) {
  NetOptions options = NetOptionsOf(config, TEST);
  options.plan_only = true;
  options.batch_size = config.validation_data().batch_size();
  options.parameters = net.parameters();
  try {
    options.labels = PlannedLabels(config, TEST);
    options.image_shape = ImageShape(config.validation_data(), TEST);
  } catch (const UserError& error) {
    if (comm->rank() == 0) {
      PrintWarning("the phase TEST was not checked: validation_data: ", error.what());
    }
    return;
  }
  const Net test(source, options, device);
}

// What training would refuse of the sizes of the images.
void CheckSizes(const JobConfig& config, const NetSource& source, const Net& net, Device* device) {
  for (int i = 0; i < config.train_data().size_phase_size(); ++i) {
    const DataConfig data = DataOfPhase(config.train_data(), i);
    NetOptions options = NetOptionsOf(config, TRAIN);
    options.plan_only = true;
    options.batch_size = data.batch_size();
    options.labels = PlannedLabels(config, TRAIN);
    options.parameters = net.parameters();
    try {
      options.image_shape = ImageShape(data, TRAIN);
      Net(source, options, device);
    } catch (const UserError& error) {
      ThrowUserError("train_data.size_phase[", i, "]: ", error.what());
    }
  }
}

// What training would refuse of the solver once it knows the net and the data, and its warnings.
void CheckTraining(const JobConfig& config, const NetSource& source, const Net& net, Device* device,
                   Communicator* comm) {
  if (comm->rank() == 0) WarnAtStart(config, net.parameters()->layout(), comm->size());
  if (config.has_validation_data()) CheckValidation(config, source, net, device, comm);
  const SolverConfig& solver = config.solver();
  const DataConfig& data = config.train_data();
  RulesOf(solver, *net.parameters());
  CheckSizes(config, source, net, device);
  int64_t images = data.images();
  const bool by_epochs = solver.has_max_epochs() || solver.warmup_epochs() > 0 ||
                         solver.epoch_value_size() > 0 || solver.batch_phase_size() > 0;
  if (images == 0 && by_epochs) {
    try {
      images = OpenSource(DataConfig::Format_Name(data.format()), SourceOptionsOf(data))->size();
    } catch (const UserError& error) {
      if (comm->rank() == 0) {
        PrintWarning("the length of training was not checked: train_data: ", error.what());
      }
      return;
    }
  }
  const BatchSchedule batches(solver, std::max<int64_t>(images, 1),
                              int64_t{data.batch_size()} * comm->size());
  LearningRate(solver, batches);
}

}  // namespace

void DryRun(const JobConfig* config, const DryRunOptions& options, Communicator* comm, FILE* out) {
  Phase phase = TRAIN;
  if (!Phase_Parse(options.phase, &phase)) {
    ThrowUserError("--phase=", options.phase, ": expected TRAIN or TEST");
  }
  NetOptions net_options = NetOptionsOf(config != nullptr ? *config : JobConfig(), phase);
  net_options.plan_only = true;
  if (config == nullptr) net_options.labels.reset();
  if (!options.input.empty()) net_options.image_shape = ParseInput(options.input);
  std::string file = options.net, device_name = "cpu";
  if (config != nullptr) {
    file = config->net();
    device_name = config->device();
    const bool test = phase == TEST && config->has_validation_data();
    const DataConfig& data = test ? config->validation_data() : config->train_data();
    net_options.batch_size = data.batch_size();
    net_options.labels = PlannedLabels(*config, phase);
    if (options.input.empty()) net_options.image_shape = ImageShape(data, phase);
  }
  if (options.batch_size < 0) {
    ThrowUserError("--batch_size is ", options.batch_size, ", must be at least 0");
  }
  if (options.batch_size > 0) net_options.batch_size = options.batch_size;
  const auto device = DeviceRegistry::Get().Create("device", device_name, 0);
  const NetSource source = config != nullptr ? ReadJobNet(*config) : ReadNet(file);
  if (const std::string ignored = IgnoredFields(source.param);
      !ignored.empty() && comm->rank() == 0) {
    std::fprintf(out, "%s: %s\n\n", file.c_str(), ignored.c_str());
  }
  const Net net(source, net_options, device.get());
  if (config != nullptr && phase == TRAIN) CheckTraining(*config, source, net, device.get(), comm);
  if (comm->rank() != 0) return;
  std::fprintf(out, "%s (%s), phase %s, %s, %s\n\n", net.name().c_str(), file.c_str(),
               options.phase.c_str(), Name(net_options.compute), device->Description().c_str());
  if (config != nullptr && StepsAhead(config->comm(), config->solver().type(), comm->size(),
                                      net_options.compute, device->shares_host_memory())) {
    net.parameters()->SetOwnCompute(true);
  }
  if (config != nullptr && phase == TRAIN && config->solver().average().decay() > 0) {
    net.parameters()->AddAverage();
  }
  const double solver_bytes = SolverBytes(config, net, *device);
  WarnOfMemory(net, solver_bytes, *device);
  PrintLayers(net, out);
  std::fprintf(out, "\n");
  PrintMemory(net, solver_bytes, out);
  std::fprintf(out, "\n");
  PrintPool(net.parameters()->layout(), out);
  std::fprintf(out, "\n");
  if (net.parameters()->has_gradients()) {
    PrintBuckets(*net.parameters(), config != nullptr ? config->comm() : CommConfig(), comm, out);
  }
}

}  // namespace gf
