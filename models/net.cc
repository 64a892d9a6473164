#include "models/net.h"

#include <glog/logging.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "core/config/name_pattern.h"
#include "core/error.h"
#include "layers/input.h"
#include "models/compiled_net.h"
#include "models/filler.h"
#include "models/graph.h"
#include "models/recorded_pass.h"

namespace gf {
namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

class Net::Impl {
 public:
  Impl(const NetSource& source, const NetOptions& options, Device* device)
      : name_(source.param.name()),
        options_(options),
        device_(device),
        net_(CompileNet(source, options, device)) {
    if (name_.empty()) name_ = source.file;
    for (const CompiledOp& op : net_.ops) {
      NetOp line;
      line.name = op.layer->name();
      line.type = op.layer->type();
      for (int b : op.bottoms) line.bottoms.push_back(net_.blobs[b].name);
      for (int t : op.tops) {
        line.tops.push_back(net_.blobs[t].name);
        line.top_shapes.push_back(net_.blobs[t].desc.shape);
        line.top_layouts.push_back(net_.blobs[t].desc.layout);
      }
      line.entries = op.entries;
      line.how = op.kernel->Describe();
      for (const ParameterSpec& spec : op.layer->parameters()) {
        line.parameter_count += spec.shape.count();
      }
      line.forward_flops = op.layer->ForwardFlops();
      // The gradient of the weights and the gradient of the bottom cost as much again, if they are
      // needed.
      const bool propagates = !op.plan.propagate.empty() && op.plan.propagate[0];
      line.backward_flops =
          op.backward ? line.forward_flops * ((op.entries.empty() ? 0 : 1) + propagates) : 0;
      lines_.push_back(std::move(line));
      if (op.layer->type() == "Input") FindInputShape(static_cast<const InputLayer&>(*op.layer));
    }
    if (input_shape_.rank() == 0) {
      ThrowUserError(source.file,
                     ": the net has no image input; add an Input of N x C x H x W, "
                     "or a Data or ImageData layer");
    }
    std::vector<bool> forward, backward;
    for (const CompiledOp& op : net_.ops) {
      forward.push_back(options.record && op.kernel->ForwardRepeats());
      backward.push_back(options.record && BackwardRepeats(op));
    }
    std::reverse(backward.begin(), backward.end());
    forward_pass_ = std::make_unique<RecordedPass>(device, std::move(forward));
    backward_pass_ = std::make_unique<RecordedPass>(device, std::move(backward));
  }

  bool BackwardRepeats(const CompiledOp& op) const {
    for (int producer : op.recompute) {
      if (!net_.ops[producer].kernel->ForwardRepeats()) return false;
    }
    for (const auto& sum : op.gradient_sums) {
      if (sum != nullptr && !sum->ForwardRepeats()) return false;
    }
    return !op.backward || op.kernel->BackwardRepeats();
  }

  // The k-th operation of the backward pass.
  int FromEnd(int k) const { return static_cast<int>(net_.ops.size()) - 1 - k; }

  void SetBucketEnds(const std::vector<int>& entries) {
    std::vector<bool> ends(net_.ops.size());
    for (size_t k = 0; k < ends.size(); ++k) {
      const std::vector<int>& own = net_.ops[FromEnd(static_cast<int>(k))].entries;
      ends[k] =
          std::find_first_of(own.begin(), own.end(), entries.begin(), entries.end()) != own.end();
    }
    backward_pass_->SetEnds(std::move(ends));
  }

  void FindInputShape(const InputLayer& input) {
    for (size_t i = 0; i < input.tops().size(); ++i) {
      if (!input.IsImage(static_cast<int>(i))) continue;
      const Shape& shape = input.tops()[i];
      if (input_shape_.rank() > 0 && shape != input_shape_) {
        input.Fail("takes images of ", shape.ToString(), ", but another input of the net takes ",
                   input_shape_.ToString(), "; all must be equal");
      }
      input_shape_ = shape;
    }
  }

  void Stage(const Batch& batch) {
    for (CompiledOp& op : net_.ops) op.kernel->Stage(batch);
  }

  void Forward(const Batch& batch, uint64_t sequence) {
    CHECK(batch.Fits(input_shape_)) << batch.images.desc.shape.ToString()
                                    << " for a net that takes " << input_shape_.ToString();
    sequence_ = sequence;
    const auto forward = [&](int k) {
      CompiledOp& op = net_.ops[k];
      op.forward_args.batch = &batch;
      op.forward_args.sequence = sequence;
      op.forward_args.parameters_version = net_.parameters->version();
      Timed(&lines_[k].forward_seconds, [&] { op.kernel->Forward(op.forward_args); });
    };
    Run(forward_pass_.get(), forward, [](int) {});
  }

  // Calls add(weight, number of values, address) for each loss of the last Forward.
  template <typename Add>
  void ForLosses(const Add& add) const {
    for (const CompiledOp& op : net_.ops) {
      for (size_t i = 0; i < op.tops.size(); ++i) {
        const float weight = op.layer->LossWeight(static_cast<int>(i));
        if (weight == 0) continue;
        const TensorDesc& desc = net_.blobs[op.tops[i]].desc;
        CHECK(desc.dtype == DType::kFP32 && desc.layout.plain()) << op.layer->name();
        add(weight, desc.shape.count(), op.forward_args.tops[i]);
      }
    }
  }

  void Backward(float loss_scale, const std::function<void(const std::vector<int>&)>& done) {
    CHECK(options_.phase == TRAIN);
    const auto backward = [&](int k) {
      const int op = FromEnd(k);
      // Operations that do not run backward: no loss depends on their parameters, whose gradients
      // stay zero.
      if (!net_.ops[op].backward) return;
      Timed(&lines_[op].backward_seconds, [&] { Backward(&net_.ops[op], loss_scale); });
    };
    const auto after = [&](int k) {
      const std::vector<int>& entries = net_.ops[FromEnd(k)].entries;
      if (!entries.empty() && done) done(entries);
    };
    Run(backward_pass_.get(), backward, after);
  }

  void Backward(CompiledOp* op, float loss_scale) {
    for (int producer : op->recompute) {
      CompiledOp& other = net_.ops[producer];
      other.kernel->Recompute(other.recompute_args);
    }
    for (size_t i = 0; i < op->tops.size(); ++i) {
      if (op->gradient_sums[i]) op->gradient_sums[i]->Forward(op->gradient_sum_args[i]);
    }
    op->backward_args.loss_scale = loss_scale;
    op->backward_args.sequence = sequence_;
    op->backward_args.parameters_version = net_.parameters->version();
    op->kernel->Backward(op->backward_args);
  }

  // Runs a pass; timed operations are not recorded.
  void Run(RecordedPass* pass, const RecordedPass::Call& enqueue, const RecordedPass::Call& after) {
    times_ ? pass->RunPlain(enqueue, after) : pass->Run(enqueue, after);
  }

  template <typename Work>
  void Timed(double* seconds, const Work& work) {
    const double start = times_ ? TimeWhenDone() : 0;
    work();
    if (times_) *seconds += TimeWhenDone() - start;
  }

  // Waits for all enqueued work and returns the time in seconds.
  double TimeWhenDone() const {
    device_->compute_stream()->Synchronize();
    return Now();
  }

  std::vector<float> Values(const TensorDesc& desc, const void* data) const {
    Tensor from, to;
    from.desc = desc;
    from.data = const_cast<void*>(data);
    to.desc = {desc.shape, DType::kFP32, Layout()};
    std::vector<float> values(desc.shape.count());
    if (desc.dtype == DType::kFP32 && desc.layout.plain()) {
      device_->CopyToHost(data, values.data(), desc.bytes(), device_->compute_stream());
      return values;
    }
    if (desc.dtype == DType::kINT64) {
      std::vector<int64_t> labels(values.size());
      device_->CopyToHost(data, labels.data(), labels.size() * sizeof(int64_t),
                          device_->compute_stream());
      for (size_t i = 0; i < labels.size(); ++i) values[i] = static_cast<float>(labels[i]);
      return values;
    }
    to.owner = device_->Allocate(to.desc.bytes());
    to.data = to.owner.get();
    device_->Convert(from, to, device_->compute_stream());
    device_->CopyToHost(to.data, values.data(), to.desc.bytes(), device_->compute_stream());
    return values;
  }

  // The newest version of a blob with this name in the file.
  int FindBlob(const std::string& name) const {
    int found = -1;
    for (size_t i = 0; i < net_.blobs.size(); ++i) {
      const std::string& blob = net_.blobs[i].name;
      if (blob.find('@') == std::string::npos && PlainBlobName(blob) == name) {
        found = static_cast<int>(i);
      }
    }
    CHECK_GE(found, 0) << "no blob " << name;
    return found;
  }

  const void* Data(int blob) const {
    return static_cast<const char*>(net_.arena.get()) + net_.memory.offset(net_.blobs[blob].buffer);
  }

  const FillerParameter& FillerOf(const ParameterSpec& spec, const std::string& name) const {
    for (size_t i = options_.init.size(); i-- > 0;) {
      if (NameFits(options_.init[i].first, name)) return options_.init[i].second;
    }
    return spec.filler;
  }

  void InitParameters() {
    ParameterStore& store = *net_.parameters;
    int64_t largest = 0;
    for (const PoolEntry& entry : store.layout().entries()) {
      largest = std::max(largest, entry.shape.count());
    }
    // Uses the gradient pool if possible, to avoid touching new memory.
    const size_t bytes = largest * sizeof(float);
    const Tensor& gradient = store.gradient();
    const bool borrow =
        device_->shares_host_memory() && gradient.data && gradient.desc.bytes() >= bytes;
    std::shared_ptr<void> own;
    if (!borrow) own = DeviceRegistry::Get().Create("device", "cpu", 0)->Allocate(bytes);
    float* const values = static_cast<float*>(borrow ? gradient.data : own.get());
    for (size_t i = 0; i < options_.init.size(); ++i) {
      CheckPattern(StrCat("init[", i, "].pattern"), options_.init[i].first, store.layout());
    }
    for (const CompiledOp& op : net_.ops) {
      const auto& specs = op.layer->parameters();
      for (size_t i = 0; i < specs.size(); ++i) {
        const PoolEntry& entry = store.layout().entries()[op.entries[i]];
        Fill(FillerOf(specs[i], entry.name), specs[i].shape, options_.seed, entry.name, values);
        store.Import(values, entry, store.master());
      }
      const auto& states = op.layer->states();
      for (size_t i = 0; i < states.size(); ++i) {
        const PoolEntry& entry = store.state_layout().entries()[op.state_entries[i]];
        store.Import(std::vector<float>(entry.shape.count(), states[i].initial), entry,
                     store.states());
      }
    }
    if (borrow) device_->Zero(gradient.data, bytes, device_->compute_stream());
    store.SyncCompute();
  }

  std::string name_;
  NetOptions options_;
  Device* device_;
  CompiledNet net_;
  std::vector<NetOp> lines_;
  Shape input_shape_;
  uint64_t sequence_ = 0;
  bool times_ = false;
  std::unique_ptr<RecordedPass> forward_pass_, backward_pass_;
};

Net::Net(const NetSource& source, const NetOptions& options, Device* device)
    : impl_(std::make_unique<Impl>(source, options, device)) {}
Net::~Net() = default;

const std::string& Net::name() const { return impl_->name_; }
const std::shared_ptr<ParameterStore>& Net::parameters() const { return impl_->net_.parameters; }
const Shape& Net::input_shape() const { return impl_->input_shape_; }

int64_t Net::classes() const {
  if (impl_->net_.logits < 0) return 0;
  const Shape& shape = impl_->net_.blobs[impl_->net_.logits].desc.shape;
  return shape.rank() > 1 ? shape[1] : 0;
}

void Net::InitParameters() { impl_->InitParameters(); }

void Net::Stage(const Batch& batch) { impl_->Stage(batch); }

PendingLoss Net::Forward(const Batch& batch, uint64_t sequence) {
  impl_->Forward(batch, sequence);
  PendingLoss loss;
  Device* const device = impl_->device_;
  impl_->ForLosses([&](float weight, int64_t count, const void* data) {
    loss.parts_.push_back(
        {weight, count, device->Read(data, count * sizeof(float), device->compute_stream())});
  });
  return loss;
}

float PendingLoss::Value() const {
  double loss = 0;
  for (const Part& part : parts_) {
    const auto* const values = static_cast<const float*>(part.values->Wait());
    for (int64_t i = 0; i < part.count; ++i) loss += part.weight * values[i];
  }
  return static_cast<float>(loss);
}

void Net::Backward(float loss_scale, const std::function<void(const std::vector<int>&)>& done) {
  impl_->Backward(loss_scale, done);
}

void Net::SetBucketEnds(const std::vector<int>& entries) { impl_->SetBucketEnds(entries); }

std::pair<int, int> Net::RecordedOps() const {
  return {impl_->forward_pass_->recorded() + impl_->backward_pass_->recorded(),
          static_cast<int>(2 * impl_->net_.ops.size())};
}

std::vector<std::pair<std::string, float>> Net::Scalars() const {
  std::vector<std::pair<std::string, float>> scalars;
  for (int b : impl_->net_.scalars) {
    const CompiledBlob& blob = impl_->net_.blobs[b];
    scalars.emplace_back(PlainBlobName(blob.name), impl_->Values(blob.desc, impl_->Data(b))[0]);
  }
  return scalars;
}

std::vector<float> Net::Logits() const {
  CHECK_GE(impl_->net_.logits, 0);
  const int b = impl_->net_.logits;
  return impl_->Values(impl_->net_.blobs[b].desc, impl_->Data(b));
}

std::vector<float> Net::Blob(const std::string& blob) const {
  const int b = impl_->FindBlob(blob);
  return impl_->Values(impl_->net_.blobs[b].desc, impl_->Data(b));
}

std::vector<float> Net::BlobGradient(const std::string& blob) const {
  const CompiledBlob& b = impl_->net_.blobs[impl_->FindBlob(blob)];
  CHECK(!b.gradients.empty()) << blob << " has no gradient";
  std::vector<int> buffers = b.gradients;
  const CompiledOp& producer = impl_->net_.ops[b.producer];
  for (size_t i = 0; i < producer.gradient_sums.size(); ++i) {
    // The sum overwrote the first gradient.
    if (&b == &impl_->net_.blobs[producer.tops[i]] && producer.gradient_sums[i]) buffers.resize(1);
  }
  std::vector<float> sum(b.desc.shape.count());
  for (int buffer : buffers) {
    const char* data =
        static_cast<const char*>(impl_->net_.arena.get()) + impl_->net_.memory.offset(buffer);
    const std::vector<float> values = impl_->Values(b.desc, data);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
  }
  return sum;
}

const std::vector<NetOp>& Net::ops() const { return impl_->lines_; }
size_t Net::arena_bytes() const { return impl_->net_.memory.bytes(); }
size_t Net::arena_bytes_without_reuse() const { return impl_->net_.memory.bytes_without_reuse(); }

void Net::EnableTimes() {
  impl_->times_ = true;
  ResetTimes();
}

void Net::ResetTimes() {
  for (NetOp& op : impl_->lines_) op.forward_seconds = op.backward_seconds = 0;
}

}  // namespace gf
