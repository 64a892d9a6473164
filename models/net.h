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
  // Replaces the first dimension of the inputs; 0 keeps what the file says.
  int64_t batch_size = 0;
  // C, H, W of the images where the net does not say (a Data layer without crop_size);
  // a net that says otherwise is an error. Empty: the net must say.
  Shape image_shape;
  // Parameters of another net of the same job to use instead of own ones.
  std::shared_ptr<ParameterStore> parameters;
  // Merge and fuse layers, and reuse the memory of activations. Off in tests that look inside.
  bool fuse = true;
  bool reuse_memory = true;
  // Give up results that one pass over memory can bring back (batch norm) after forward, and
  // recompute them in backward: an eighth less memory for ResNet-50, for 1-2 % more time.
  bool recompute = false;
  // See KernelContext.
  bool allow_tf32 = false;
  // Replay what repeats in every pass where the device can record it (Note [Recorded passes]).
  bool record = true;
  // See KernelContext; outlives the net.
  GroupSum* batch_norm_group = nullptr;
  // In place of the nets' own: losses' label smoothing, and first values of parameters by patterns
  // of their names (the last that fits counts; one that fits none is a UserError of
  // InitParameters).
  std::optional<float> label_smoothing;
  std::vector<std::pair<std::string, FillerParameter>> init;
};

// One line of `--dry_run`: an operation of the compiled net.
struct NetOp {
  std::string name, type;
  std::vector<std::string> bottoms, tops;  // blob names
  std::vector<Shape> top_shapes;
  std::vector<Layout> top_layouts;
  std::vector<int> entries;  // its parameters, indices into the pool layout
  std::string how;           // Kernel::Describe
  int64_t parameter_count = 0;
  int64_t forward_flops = 0, backward_flops = 0;
  double forward_seconds = 0, backward_seconds = 0;  // summed since ResetTimes
};

// The loss of a pass, on its way from the device.
class PendingLoss {
 public:
  // Waits for it: the weighted sum of the net's losses.
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
  // Throws UserError for whatever is wrong with the net. New parameters are zero until
  // InitParameters or a checkpoint fills them.
  Net(const NetSource& source, const NetOptions& options, Device* device);
  ~Net();

  const std::string& name() const;
  const std::shared_ptr<ParameterStore>& parameters() const;
  // N, C, H, W of the images that Forward takes.
  const Shape& input_shape() const;
  // Classes that the last loss (or Softmax) tells apart; 0 if there is none.
  int64_t classes() const;

  // Fills the parameters from their fillers: functions of (seed, parameter name, index).
  void InitParameters();

  // The device may begin to take over what the next call of Forward gets, beside what it has to do
  // by now. The batch stays as it is until then.
  void Stage(const Batch& batch);
  // Runs the net on a batch of input_shape(), which the host may change when the call returns.
  // `sequence` numbers the batches of the whole run over all ranks (dropout's stream).
  // Labels out of range are a UserError.
  PendingLoss Forward(const Batch& batch, uint64_t sequence = 0);
  // Writes the gradients of loss_scale * loss into the gradient pool; calls `done`, if not null,
  // after each layer with parameters, with their pool entries, in pool order.
  void Backward(float loss_scale, const std::function<void(const std::vector<int>&)>& done);
  // The pool entries with which `done` starts something (a bucket ends with them): Backward calls
  // it for them at once, for others perhaps later. Without it: for all at once.
  void SetBucketEnds(const std::vector<int>& entries);

  // Scalars of the last Forward by name: losses and accuracies.
  std::vector<std::pair<std::string, float>> Scalars() const;
  // The scores that the last loss (or Softmax) gets, FP32 [N][classes], of the last Forward.
  std::vector<float> Logits() const;
  // Any blob of the last Forward as plain FP32 (needs reuse_memory = false unless an output).
  std::vector<float> Blob(const std::string& blob) const;
  std::vector<float> BlobGradient(const std::string& blob) const;

  const std::vector<NetOp>& ops() const;
  // Bytes of the arena of activations, and what they would take without reuse.
  size_t arena_bytes() const;
  size_t arena_bytes_without_reuse() const;
  // Operations that are replayed, forward and backward, and how many there are.
  std::pair<int, int> RecordedOps() const;
  // Times every operation from now on, one by one; gfbench.
  void EnableTimes();
  void ResetTimes();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gf
