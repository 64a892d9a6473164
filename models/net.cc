#include "models/net.h"

#include <glog/logging.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/error.h"
#include "layers/input.h"
#include "models/blob_values.h"
#include "models/compiled_net.h"
#include "models/graph.h"
#include "models/init_parameters.h"
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
      line.how = op.kernel->Describe();
      for (size_t i = 0; i < op.parameters.size(); ++i) {
        if (!op.parameters[i].owned) continue;
        line.parameter_count += op.layer->parameters()[i].shape.count();
        if (!op.parameters[i].frozen) line.entries.push_back(op.parameters[i].entry);
      }
      line.forward_flops = op.layer->ForwardFlops();
      // The gradient of the weights and the gradient of the bottom cost as much again, if they are
      // needed.
      const bool propagates = !op.setup.propagate.empty() && op.setup.propagate[0];
      const bool weights = !op.parameters.empty() && !op.setup.skips_parameter_diffs;
      line.backward_flops = op.backward ? line.forward_flops * (weights + propagates) : 0;
      lines_.push_back(std::move(line));
      if (op.layer->type() == "Input") FindInputShape(static_cast<const InputLayer&>(*op.layer));
    }
    if (input_shape_.rank() == 0) {
      ThrowUserError(source.file,
                     ": the net has no image input; add an Input of N x C x H x W, "
                     "or a data layer");
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
    for (const CompiledParameter& parameter : op.parameters) {
      if (parameter.sum != nullptr && !parameter.sum->ForwardRepeats()) return false;
    }
    return !op.backward || op.kernel->BackwardRepeats();
  }

  // The k-th operation of the backward pass.
  int FromEnd(int k) const { return static_cast<int>(net_.ops.size()) - 1 - k; }

  void SetBucketEnds(const std::vector<int>& entries) {
    std::vector<bool> ends(net_.ops.size());
    for (size_t k = 0; k < ends.size(); ++k) {
      const std::vector<int>& own = lines_[FromEnd(static_cast<int>(k))].entries;
      ends[k] =
          std::find_first_of(own.begin(), own.end(), entries.begin(), entries.end()) != own.end();
    }
    backward_pass_->SetEnds(std::move(ends));
  }

  void EndParameters(const std::vector<int>& entries) {
    if (entries == ended_) return;
    ended_ = entries;
    const std::vector<bool> need = BlobsThatNeedGradients(net_, ended_);
    left_out_.assign(net_.ops.size(), false);
    for (size_t k = 0; k < net_.ops.size(); ++k) {
      CompiledOp& op = net_.ops[k];
      if (!op.backward) continue;
      left_out_[k] = !need[op.tops[0]];
      if (!op.kernel->CanOmitBottomDiff()) continue;
      op.backward_args.bottom_diffs[0] =
          need[op.bottoms[0]] ? net_.At(op.bottom_gradients[0]) : nullptr;
    }
    backward_pass_->Clear();
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

  void CheckCanRun() const {
    CHECK(!options_.plan_only) << name_ << " is a plan without memory and cannot run";
  }

  void Forward(const Batch& batch, uint64_t sequence) {
    CheckCanRun();
    CHECK(batch.Fits(input_shape_)) << batch.images.desc.shape.ToString()
                                    << " for a net that takes " << input_shape_.ToString();
    sequence_ = sequence;
    if (net_.parameters->compute().data != net_.bound_weights) {
      BindParameters(&net_);
      forward_pass_->Clear();
      backward_pass_->Clear();
    }
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
    const auto backward = [&](int step) {
      const int k = FromEnd(step);
      CompiledOp& op = net_.ops[k];
      // Operations that do not run backward: no loss depends on their parameters, whose gradients
      // stay zero.
      if (!op.backward) return;
      if (!LeftOut(k)) {
        Timed(&lines_[k].backward_seconds, [&] {
          Recompute(op);
          Backward(&op, loss_scale);
        });
      } else if (!op.recompute.empty()) {
        Timed(&lines_[k].backward_seconds, [&] { Recompute(op); });
      }
      if (!ended_.empty()) ZeroEnded(op);
    };
    const auto after = [&](int k) {
      const std::vector<int>& entries = lines_[FromEnd(k)].entries;
      if (!entries.empty() && done) done(entries);
    };
    Run(backward_pass_.get(), backward, after);
  }

  bool LeftOut(int k) const { return !left_out_.empty() && left_out_[k]; }

  // The operation may be left out: others that run later read the results, too.
  void Recompute(const CompiledOp& op) {
    for (int producer : op.recompute) {
      CompiledOp& other = net_.ops[producer];
      const std::vector<int>& readers = net_.blobs[other.tops[0]].readers;
      const bool needed = std::any_of(readers.begin(), readers.end(), [&](int reader) {
        return net_.ops[reader].backward && !LeftOut(reader);
      });
      if (needed) other.kernel->Recompute(other.recompute_args);
    }
  }

  void Backward(CompiledOp* op, float loss_scale) {
    for (size_t i = 0; i < op->tops.size(); ++i) {
      if (op->gradient_sums[i]) op->gradient_sums[i]->Forward(op->gradient_sum_args[i]);
    }
    op->backward_args.loss_scale = loss_scale;
    op->backward_args.sequence = sequence_;
    op->backward_args.parameters_version = net_.parameters->version();
    op->kernel->Backward(op->backward_args);
    for (CompiledParameter& parameter : op->parameters) {
      if (parameter.sum != nullptr) parameter.sum->Forward(parameter.sum_args);
    }
  }

  void ZeroEnded(const CompiledOp& op) {
    for (const CompiledParameter& parameter : op.parameters) {
      if (parameter.frozen || !std::binary_search(ended_.begin(), ended_.end(), parameter.entry)) {
        continue;
      }
      const PoolEntry& entry = net_.parameters->layout().entries()[parameter.entry];
      const Tensor& pool = net_.parameters->gradient();
      const size_t size = SizeOf(pool.desc.dtype);
      device_->Zero(pool.as<char>() + entry.offset * size, entry.count * size,
                    device_->compute_stream());
    }
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

  std::string name_;
  NetOptions options_;
  Device* device_;
  CompiledNet net_;
  std::vector<NetOp> lines_;
  Shape input_shape_;
  uint64_t sequence_ = 0;
  bool times_ = false;
  std::unique_ptr<RecordedPass> forward_pass_, backward_pass_;
  std::vector<int> ended_;      // EndParameters
  std::vector<bool> left_out_;  // by operation; empty: none
};

Net::Net(const NetSource& source, const NetOptions& options, Device* device)
    : impl_(std::make_unique<Impl>(source, options, device)) {}
Net::~Net() = default;

const std::string& Net::name() const { return impl_->name_; }
const std::shared_ptr<ParameterStore>& Net::parameters() const { return impl_->net_.parameters; }
const Shape& Net::input_shape() const { return impl_->input_shape_; }

int64_t Net::classes() const {
  const Shape shape = scores_shape();
  return shape.rank() > 1 ? shape[1] : 0;
}

Shape Net::scores_shape() const {
  return impl_->net_.logits < 0 ? Shape() : impl_->net_.blobs[impl_->net_.logits].desc.shape;
}

void Net::InitParameters() {
  impl_->CheckCanRun();
  gf::InitParameters(impl_->net_, impl_->options_, impl_->device_);
}

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

void Net::EndParameters(const std::vector<int>& entries) { impl_->EndParameters(entries); }

void Net::SetBucketEnds(const std::vector<int>& entries) { impl_->SetBucketEnds(entries); }

std::pair<int, int> Net::RecordedOps() const {
  return {impl_->forward_pass_->recorded() + impl_->backward_pass_->recorded(),
          static_cast<int>(2 * impl_->net_.ops.size())};
}

std::vector<std::pair<std::string, float>> Net::Scalars() const {
  std::vector<std::pair<std::string, float>> scalars;
  for (int b : impl_->net_.scalars) {
    scalars.emplace_back(PlainBlobName(impl_->net_.blobs[b].name),
                         BlobValues(impl_->net_, b, impl_->device_)[0]);
  }
  return scalars;
}

std::vector<float> Net::Logits() const {
  CHECK_GE(impl_->net_.logits, 0);
  return BlobValues(impl_->net_, impl_->net_.logits, impl_->device_);
}

std::vector<float> Net::Blob(const std::string& blob) const {
  return BlobValues(impl_->net_, FindBlob(impl_->net_, blob), impl_->device_);
}

std::vector<float> Net::BlobGradient(const std::string& blob) const {
  return GradientValues(impl_->net_, FindBlob(impl_->net_, blob), impl_->device_);
}

const std::vector<NetOp>& Net::ops() const { return impl_->lines_; }
std::vector<std::string> Net::Unfused() const {
  std::vector<std::string> lines;
  for (const auto& unfused : impl_->net_.unfused) lines.push_back(unfused.Line());
  return lines;
}
size_t Net::arena_bytes() const { return impl_->net_.memory.bytes(); }
size_t Net::arena_bytes_without_reuse() const { return impl_->net_.memory.bytes_without_reuse(); }
size_t Net::kept_bytes() const {
  size_t bytes = 0;
  for (const CompiledOp& op : impl_->net_.ops) bytes += op.setup.kept_bytes;
  return bytes;
}

void Net::EnableTimes() {
  impl_->times_ = true;
  ResetTimes();
}

void Net::ResetTimes() {
  for (NetOp& op : impl_->lines_) op.forward_seconds = op.backward_seconds = 0;
}

}  // namespace gf
