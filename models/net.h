#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/batch.h"
#include "core/config/config.h"
#include "core/device.h"
#include "core/group_sum.h"
#include "models/parameter_store.h"

namespace gf {

struct NetOptions {
  Phase phase = TRAIN;
  DType compute = DType::kFP32;
  uint64_t seed = 1;
  bool deterministic = false;
  // Replaces the first extent of the inputs; 0 keeps the extent in the file.
  int64_t batch_size = 0;
  // The kind of an image's labels, and how many numbers it has; without: as the Inputs of the
  // file say, and outputs are scores of classes.
  std::optional<LabelConfig> labels;
  // C, H, W of the images, for nets that do not state a size (a Data layer without crop_size). A
  // net with a different size is an error. Empty: the net must state the size.
  Shape image_shape;
  // Parameters of another net of the same job, used instead of new ones.
  std::shared_ptr<ParameterStore> parameters;
  // Merge and fuse layers, and reuse the memory of activations. Tests that read intermediate blobs
  // turn these off.
  bool fuse = true;
  bool reuse_memory = true;
  // Allocate neither activations nor parameters: the net has ops, layouts and sizes, of any batch,
  // and cannot run. A GPU still measures convolutions in its own memory.
  bool plan_only = false;
  // After the forward pass, discard results that one pass over memory can restore (batch norm), and
  // recompute them in the backward pass. For ResNet-50 this saves an eighth of the memory and costs
  // 1 to 2% more time.
  bool recompute = false;
  // See KernelContext.
  bool allow_tf32 = false;
  // On devices that can record, replay the work that repeats in every pass (Note [Recorded
  // passes]).
  bool record = true;
  // See KernelContext; must outlive the net.
  GroupSum* batch_norm_group = nullptr;
  // Batches may be mixed (Batch::mix), which not every loss allows (MixMistake).
  bool mixed = false;
  // Override settings of the net: the label smoothing and the class weights (empty: the net's) of
  // losses, and the initial values of parameters by name pattern. The last matching pattern
  // applies; a pattern without match is an error.
  std::optional<float> label_smoothing;
  std::vector<float> class_weights;
  std::vector<std::pair<std::string, FillerParameter>> init;
  // Parameters that keep their values, by name pattern; a pattern without match is an error. No
  // gradient is computed below the lowest parameter that is trained, and batch norms there use
  // their running statistics.
  std::vector<std::string> freeze;
};

// One line of `--dry_run`: an operation of the compiled net.
struct NetOp {
  std::string name, type;
  std::vector<std::string> bottoms, tops;  // blob names
  std::vector<Shape> top_shapes;
  std::vector<Layout> top_layouts;
  // The trained parameters that it owns, as indices into the pool layout.
  std::vector<int> entries;
  std::string how;  // text of Kernel::Describe
  int64_t parameter_count = 0;
  int64_t forward_flops = 0, backward_flops = 0;
  double forward_seconds = 0, backward_seconds = 0;  // summed since ResetTimes
};

// The loss of a pass, while it is copied from the device.
class PendingLoss {
 public:
  // Waits for the copy. Returns the weighted sum of the net's losses.
  float Value() const;

 private:
  friend class Net;
  struct Part {
    float weight;
    int64_t count;  // FP32 numbers
    std::unique_ptr<HostReading> values;
  };
  std::vector<Part> parts_;
};

// A compiled network: checked, ordered, fused, with kernels built and memory planned.
class Net {
 public:
  // Throws UserError for any mistake in the net. New parameters are zero until InitParameters or a
  // checkpoint fills them.
  Net(const NetSource& source, const NetOptions& options, Device* device);
  ~Net();

  const std::string& name() const;
  const std::shared_ptr<ParameterStore>& parameters() const;
  // N, C, H, W of the images for Forward.
  const Shape& input_shape() const;
  // Number of classes of the last loss (or Softmax), or of values; 0 without one.
  int64_t classes() const;
  // The shape of the scores that Logits returns: N x classes, or with further extents for a net
  // that classifies places of images. Empty without a loss of classes or Softmax.
  Shape scores_shape() const;

  // Fills the parameters with values of their fillers, which are functions of (seed, parameter
  // name, index). CHECKs that the net is not plan_only.
  void InitParameters();

  // Announces the batch of the next Forward, so that the device can copy it beside its current
  // work. The batch must not change until then.
  void Stage(const Batch& batch);
  // Runs the net on a batch of input_shape(); the host may change the batch when the call returns.
  // `sequence` is the number of the batch within the run, over all ranks (it selects dropout's
  // random stream). Throws UserError for labels out of range. CHECKs that the net is not plan_only.
  PendingLoss Forward(const Batch& batch, uint64_t sequence = 0);
  // Writes the gradients of loss_scale * loss into the gradient pool. Calls `done`, if not null,
  // after each layer with parameters, with the pool entries of these parameters, in pool order.
  void Backward(float loss_scale, const std::function<void(const std::vector<int>&)>& done);
  // From now on, Backward sets the gradients of these pool entries to zero (sorted; replaces those
  // of an earlier call), and leaves out layers that pass gradients to no other parameter.
  void EndParameters(const std::vector<int>& entries);
  // Sets the pool entries that end a bucket. Backward calls `done` for them at once; for other
  // entries the call may come later. By default, `done` is called at once for all entries.
  void SetBucketEnds(const std::vector<int>& entries);

  // Losses and accuracies of the last Forward, by name.
  std::vector<std::pair<std::string, float>> Scalars() const;
  // Outputs of the last Forward, scores or values: what the last loss (or Softmax) reads, FP32
  // [N][classes].
  std::vector<float> Logits() const;
  // Any blob of the last Forward as plain FP32. Blobs other than outputs need reuse_memory = false.
  std::vector<float> Blob(const std::string& blob) const;
  std::vector<float> BlobGradient(const std::string& blob) const;

  const std::vector<NetOp>& ops() const;
  // Lines that say which batch norms were not fused with a neighbor, and why. Empty for devices
  // that never do so.
  std::vector<std::string> Unfused() const;
  // Bytes of the arena of activations, and bytes that it would need without reuse.
  size_t arena_bytes() const;
  size_t arena_bytes_without_reuse() const;
  // Bytes of parameters that kernels keep in another form.
  size_t kept_bytes() const;
  // Number of replayed operations, forward and backward, and the total number.
  std::pair<int, int> RecordedOps() const;
  // Times every single operation from now on; for gfbench.
  void EnableTimes();
  void ResetTimes();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gf
