#include <glog/logging.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/config/name_pattern.h"
#include "core/error.h"
#include "layers/input.h"
#include "models/class_losses.h"
#include "models/compiled_net.h"
#include "models/graph.h"
#include "models/inputs.h"
#include "models/layer_checks.h"
#include "models/memory_check.h"
#include "models/parameter_names.h"
#include "models/rewrites.h"

namespace gf {
namespace {

void CheckComputeType(DType compute, const Device& device) {
  if (device.Supports(compute)) return;
  std::string others;
  for (DType type : {DType::kFP32, DType::kBF16, DType::kFP16}) {
    if (device.Supports(type)) others += (others.empty() ? "" : " or ") + std::string(Name(type));
  }
  ThrowUserError("compute_type: ", Name(compute), " is not supported here (", device.Description(),
                 "); set compute_type: ", others,
                 compute == DType::kFP16 ? ", or device: \"cuda\"" : "");
}

// The compilation of one net, step by step.
class Compiler {
 public:
  Compiler(const NetSource& source, const NetOptions& options, Device* device)
      : options_(options), device_(device), parameter_names_(source.param) {
    CheckComputeType(options.compute, *device);
    nodes_ = ResolveGraph(source, options.phase);
    SetInputs(options.batch_size, options.image_shape, &nodes_,
              options.labels ? &*options.labels : nullptr);
    for (const GraphNode& node : nodes_) CheckType(node);  // fusion adds internal types
    MergeBatchNormAndScale(&nodes_);
    if (options.phase == TRAIN && !options.freeze.empty()) FreezeStatistics();
    BatchNormFusions fusions;
    fusions.sums = device->SumsInConvolutions(options.compute);
    fusions.pairs = HasKernel("_BatchNormPair");
    fusions.pooling = HasKernel("_BatchNormPooling");
    if (options.fuse) net_.unfused = FuseLayers(options.phase, fusions, &nodes_);
    if (options.fuse && options.phase == TRAIN) ExplainDevice(fusions);
  }

  CompiledNet Run() {
    for (GraphNode& node : nodes_) AddLayer(node);
    if (options_.plan_only) {
      CheckCountable(net_);
    } else {
      CheckShapesFit(net_, options_, *device_);
    }
    FindGradients(options_.phase, &net_);
    PlanKernels();
    FindResults();
    BuildParameters(options_, device_, &net_);
    PlanMemory(options_, device_, &net_);
    if (!options_.plan_only) BindParameters(&net_);
    device_->ReleaseUnused();  // memory of trials
    return std::move(net_);
  }

 private:
  // Lets the BatchNorms below the lowest trained parameter normalize with their running statistics,
  // which then stay as they are. Fusions depend on this, so a net without them tells which these
  // are.
  void FreezeStatistics() {
    const ParameterNames names = parameter_names_;
    for (const GraphNode& node : nodes_) AddLayer(node);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      LayerParameter& p = nodes_[i].param;
      if (p.type() != "BatchNorm" || net_.blobs[net_.ops[i].tops[0]].needs_gradient) continue;
      p.mutable_batch_norm_param()->set_use_global_stats(true);
    }
    net_ = CompiledNet();
    by_name_.clear();
    shared_.clear();
    parameter_names_ = names;
  }

  // Adds the reasons that concern all batch norms.
  void ExplainDevice(const BatchNormFusions& fusions) {
    const bool has_norm = std::any_of(nodes_.begin(), nodes_.end(), [](const GraphNode& node) {
      return node.param.type().find("BatchNorm") != std::string::npos &&
             !node.param.batch_norm_param().use_global_stats();
    });
    // Devices without such kernels fuse no batch norms with each other.
    if (!has_norm || !HasKernel("_BatchNormPair") || fusions.sums) return;
    net_.unfused.push_back({StrCat("sums of batch norms' inputs, since convolutions do not add "
                                   "them up in ",
                                   Name(options_.compute), " on this GPU"),
                            {}});
  }

  bool HasKernel(const std::string& type) const {
    return KernelRegistry::Get().Has(device_->name() + "/" + type);
  }

  int NewBlob(const std::string& name, TensorDesc desc, int producer) {
    CompiledBlob blob;
    blob.name = name;
    blob.desc = std::move(desc);
    blob.producer = producer;
    net_.blobs.push_back(std::move(blob));
    return static_cast<int>(net_.blobs.size()) - 1;
  }

  // Creates the layer, checks its numbers of bottoms and tops, and derives its shapes.
  void AddLayer(const GraphNode& node) {
    LayerParameter p = node.param;
    if (options_.label_smoothing && IsClassLoss(p.type())) {
      p.mutable_loss_param()->set_label_smoothing(*options_.label_smoothing);
    }
    if (!options_.class_weights.empty() && IsClassLoss(p.type())) {
      p.mutable_loss_param()->mutable_class_weight()->Assign(options_.class_weights.begin(),
                                                             options_.class_weights.end());
    }
    const bool is_loss = IsLoss(p);
    // As in Caffe, a loss may omit its top.
    if (is_loss && p.top_size() == 0) {
      p.add_top(StrCat(p.name(), by_name_.count(p.name()) ? " (loss)" : ""));
    }
    CompiledOp op;
    op.layer_index = node.index;
    op.merged_scale = node.merged_scale;
    op.layer =
        LayerRegistry::Get().Create("layer type", p.type(), p, options_.phase, node.location);
    for (float weight : p.loss_weight()) {
      if (weight == 0 || is_loss || op.layer->CanBeLoss()) continue;
      op.layer->Fail("has loss_weight ", weight, " but is not a loss; remove it");
    }
    CheckCounts(*op.layer);
    const int index = static_cast<int>(net_.ops.size());
    std::vector<Shape> shapes;
    for (const std::string& bottom : p.bottom()) {
      op.bottoms.push_back(by_name_.at(bottom));
      shapes.push_back(net_.blobs[op.bottoms.back()].desc.shape);
    }
    CheckBottomTypes(op, net_.blobs, options_.compute);
    op.layer->SetUp(shapes);
    if (options_.mixed && is_loss) {
      const std::string mistake = MixMistake(p, shapes[0], net_.blobs[0].desc.shape[0]);
      if (!mistake.empty()) op.layer->Fail(mistake);
    }
    CHECK_EQ(static_cast<int>(op.layer->tops().size()), p.top_size()) << p.name();
    AddParameters(&op);
    bool needs_gradient = options_.phase == TRAIN && Trains(op);
    for (size_t i = 0; i < op.bottoms.size(); ++i) needs_gradient |= Propagates(net_, op, i);
    if (node.renamed && !(op.layer->parameters().empty() && op.layer->states().empty())) {
      op.layer->Fail("an earlier layer of phase ", Phase_Name(options_.phase),
                     " has the same name; layers with parameters or statistics need different "
                     "names");
    }
    for (const ParameterSpec& spec : op.layer->parameters()) {
      if (!IsSane(spec.shape)) {
        op.layer->Fail("its ", spec.name, " would have the ", Impossible(spec.shape));
      }
    }
    for (int i = 0; i < p.top_size(); ++i) {
      const Shape& shape = op.layer->tops()[i];
      if (!IsSane(shape)) {
        op.layer->Fail(Impossible(shape, "output shape"), ": change the layer or its input");
      }
      TensorDesc desc{shape, op.layer->TopType(i, options_.compute), Layout()};
      op.tops.push_back(by_name_[p.top(i)] = NewBlob(p.top(i), std::move(desc), index));
      net_.blobs[op.tops.back()].needs_gradient = needs_gradient;
      net_.blobs[op.tops.back()].label_values =
          p.type() == "Input" && static_cast<const InputLayer&>(*op.layer).IsLabelValues(i);
    }
    net_.ops.push_back(std::move(op));
  }

  void AddParameters(CompiledOp* op) {
    for (ParameterName& name : parameter_names_.NamesOf(*op->layer)) {
      CompiledParameter parameter;
      parameter.owned = name.owned;
      parameter.frozen = FitsOne(options_.freeze, name.name);
      parameter.name = std::move(name.name);
      if (!parameter.owned) shared_.insert(parameter.name);
      op->parameters.push_back(std::move(parameter));
    }
  }

  // A loss is a layer whose first top has a nonzero default weight.
  bool IsLoss(LayerParameter p) const {
    p.clear_loss_weight();
    const auto layer =
        LayerRegistry::Get().Create("layer type", p.type(), p, options_.phase, std::string());
    return layer->LossWeight(0) != 0;
  }

  KernelContext Context(int layer_index) const {
    return {device_,
            options_.compute,
            options_.seed,
            layer_index,
            options_.deterministic,
            options_.batch_norm_group,
            options_.allow_tf32};
  }

  std::unique_ptr<Kernel> NewKernel(const Layer& layer, int layer_index) const {
    return KernelRegistry::Get().Create("kernel", device_->name() + "/" + layer.type(), layer,
                                        Context(layer_index));
  }

  // Lets the kernels agree on layouts, in forward order, and inserts conversions where layouts
  // differ.
  void PlanKernels() {
    std::vector<CompiledOp> layers = std::move(net_.ops);
    net_.ops.clear();
    std::map<std::pair<int, std::string>, int> converted;
    for (CompiledOp& op : layers) {
      op.kernel = NewKernel(*op.layer, op.layer_index);
      KernelSetup& setup = op.setup;
      setup.backward = op.backward;
      setup.trains = Trains(op);
      for (size_t i = 0; i < op.bottoms.size(); ++i) {
        setup.bottoms.push_back(net_.blobs[op.bottoms[i]].desc);
        setup.propagate.push_back(op.backward && Propagates(net_, op, i));
      }
      for (int top : op.tops) setup.tops.push_back(net_.blobs[top].desc);
      SetParameters(&op);
      setup.needs_bottom.assign(op.bottoms.size(), false);
      setup.needs_top.assign(op.tops.size(), false);
      op.kernel->Setup(&setup);
      for (size_t i = 0; i < op.parameters.size(); ++i) {
        parameter_layouts_.emplace(op.parameters[i].name, setup.parameters[i].layout);
      }
      for (size_t i = 0; i < op.bottoms.size(); ++i) {
        const Layout& wanted = setup.bottoms[i].layout;
        if (wanted == net_.blobs[op.bottoms[i]].desc.layout) continue;
        const auto key = std::make_pair(op.bottoms[i], wanted.Name());
        const auto found = converted.find(key);
        if (found != converted.end()) {
          op.bottoms[i] = found->second;
        } else {
          op.bottoms[i] = converted[key] = AddReorder(op.bottoms[i], setup.bottoms[i]);
        }
        // The conversion runs backward if any of its readers passes a gradient to it.
        if (setup.propagate[i]) net_.ops[net_.blobs[op.bottoms[i]].producer].backward = true;
      }
      AddOp(std::move(op));
    }
  }

  // Describes the operation's parameters to its kernel. Layouts are given where another net of the
  // job or another layer has chosen them.
  void SetParameters(CompiledOp* op) const {
    op->setup.parameters_fixed = options_.parameters != nullptr;
    for (size_t i = 0; i < op->parameters.size(); ++i) {
      const std::string& name = op->parameters[i].name;
      TensorDesc desc{op->layer->parameters()[i].shape, options_.compute, Layout()};
      const auto chosen = parameter_layouts_.find(name);
      // A shared matrix is plain: its layers may read bottoms of different layouts.
      if (desc.shape.rank() == 2 && shared_.count(name) != 0) op->setup.parameters_fixed = true;
      if (options_.parameters != nullptr) {
        desc.layout = SharedEntry(*options_.parameters, *op->layer, name, desc.shape).layout;
      } else if (chosen != parameter_layouts_.end()) {
        desc.layout = chosen->second;
        op->setup.parameters_fixed = true;
      }
      op->setup.parameters.push_back(std::move(desc));
    }
  }

  // Appends an operation and registers it with its blobs.
  void AddOp(CompiledOp op) {
    const int index = static_cast<int>(net_.ops.size());
    for (size_t i = 0; i < op.tops.size(); ++i) {
      net_.blobs[op.tops[i]].producer = index;
      net_.blobs[op.tops[i]].desc.layout = op.setup.tops[i].layout;
    }
    for (int bottom : op.bottoms) net_.blobs[bottom].readers.push_back(index);
    net_.ops.push_back(std::move(op));
  }

  int AddReorder(int blob, const TensorDesc& wanted) {
    LayerParameter p;
    p.set_name(StrCat(net_.blobs[blob].name, " to ", wanted.layout.Name()));
    p.set_type("_Reorder");
    CompiledOp op;
    op.layer =
        LayerRegistry::Get().Create("layer type", p.type(), p, options_.phase, std::string());
    op.layer->SetUp({wanted.shape});
    op.kernel = NewKernel(*op.layer, 0);
    op.bottoms = {blob};
    const int top = NewBlob(StrCat(net_.blobs[blob].name, "@", wanted.layout.Name()), wanted, -1);
    op.tops = {top};
    net_.blobs[top].needs_gradient = net_.blobs[blob].needs_gradient;
    // Able to run backward; PlanKernels decides whether it does.
    op.setup.backward = options_.phase == TRAIN && net_.blobs[blob].needs_gradient;
    op.setup.propagate = {op.setup.backward};
    op.setup.bottoms = {net_.blobs[blob].desc};
    op.setup.tops = {wanted};
    op.setup.needs_bottom = {false};
    op.setup.needs_top = {false};
    op.kernel->Setup(&op.setup);
    AddOp(std::move(op));
    return top;
  }

  void FindResults() {
    net_.logits = FindOutputs(net_, options_.labels ? options_.labels->type() : LabelConfig::CLASS);
    if (net_.logits >= 0) net_.blobs[net_.logits].keep = true;
    for (const CompiledOp& op : net_.ops) {
      for (size_t i = 0; i < op.tops.size(); ++i) {
        if (op.layer->LossWeight(static_cast<int>(i)) != 0) net_.blobs[op.tops[i]].keep = true;
      }
    }
    for (size_t i = 0; i < net_.blobs.size(); ++i) {
      CompiledBlob& blob = net_.blobs[i];
      if (!blob.readers.empty()) continue;
      blob.keep = true;
      if (blob.desc.shape.count() == 1 && blob.desc.dtype == DType::kFP32) {
        net_.scalars.push_back(static_cast<int>(i));
      }
    }
  }

  NetOptions options_;
  Device* device_;
  std::vector<GraphNode> nodes_;
  std::map<std::string, int> by_name_;
  ParameterNames parameter_names_;
  std::set<std::string> shared_;                     // parameters of several layers
  std::map<std::string, Layout> parameter_layouts_;  // by name in the pools
  CompiledNet net_;
};

}  // namespace

CompiledNet CompileNet(const NetSource& source, const NetOptions& options, Device* device) {
  return Compiler(source, options, device).Run();
}

}  // namespace gf
