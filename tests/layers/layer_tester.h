#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "core/config/net.pb.h"
#include "core/device.h"
#include "layers/kernel.h"
#include "layers/layer.h"

namespace gf {

// Plain FP32 values of a tensor.
using Values = std::vector<float>;

// Normal numbers, the same for equal seeds.
Values RandomValues(int64_t count, uint64_t seed, float scale = 1, float mean = 0);

// A layer on example data. Bottoms, parameters and top gradients are random unless set.
struct LayerCase {
  std::string name;      // of the test
  std::string prototxt;  // a LayerParameter without name, bottom and top
  std::vector<Shape> bottoms;
  std::vector<int64_t> labels = {};  // the data of the bottom that holds labels, if one does
  int label_bottom = -1;             // which; below 0: the last
  int tops = 1;
  Phase phase = TRAIN;
  uint64_t seed = 1;
  // Whether results are the same bits for any number of threads.
  bool exact_for_threads = true;
  // Whether random numbers go to elements in the order of their storage.
  bool depends_on_layout = false;
  // Differences are exact for any step: a large one drowns the rounding errors of many sums.
  bool linear = false;
  // Error of FP32 results that are computed in another order, relative to the larger of a value and
  // the root of the mean square.
  double tolerance = 1e-5;
  // Relative L2 error of BF16 and FP16 against FP32 that is accepted.
  double bf16_tolerance = 0.01;

  bool IsLabel(int bottom) const {
    const int last = static_cast<int>(bottoms.size()) - 1;
    return !labels.empty() && bottom == (label_bottom < 0 ? last : label_bottom);
  }
};

// What GoogleTest prints of a case.
inline void PrintTo(const LayerCase& test, std::ostream* out) { *out << test.name; }

struct RunOptions {
  std::string device = "cpu";
  DType compute = DType::kFP32;
  // Of the bottoms with four axes: plain, blocked (of 16 channels), blocked8, nhwc. GPUs have plain
  // and nhwc.
  std::string format = "plain";
  bool backward = true;
  bool in_place = false;  // where the kernel's setup allows it
  int threads = 2;
  int top_diffs = 1;            // gradients of top 0 that are to be added up
  std::vector<bool> propagate;  // default: wherever the layer is differentiable
  float loss_scale = 1;
  uint64_t seed = 7, sequence = 0;
  int layer_index = 3;
  const Batch* batch = nullptr;
  GroupSum* batch_norm_group = nullptr;
  bool allow_tf32 = false;
};

// The layer that a case describes, set up. Throws UserError.
std::unique_ptr<Layer> MakeLayer(const LayerCase& test);

// A layer and its kernel with memory of their own, as a net would run them. Memory that a
// kernel must write is filled with NaN first.
class LayerRun {
 public:
  LayerRun(const LayerCase& test, const RunOptions& options);

  const Layer& layer() const { return *layer_; }
  const KernelSetup& setup() const { return setup_; }

  // Values to use instead of random ones, plain.
  void SetBottom(int i, const Values& values);
  void SetLabels(const std::vector<int64_t>& labels);
  void SetParameter(int i, const Values& values);
  void SetState(int i, const Values& values) { state_values_[i] = values; }
  void SetTopDiff(int i, const Values& values) { top_diff_values_[i] = values; }

  // Every Forward starts from the same bottoms and states.
  void Forward();
  // After Forward.
  void Backward();
  // From now on both replay recordings, where the device makes them and the kernel repeats; to be
  // called once both have run.
  void UseRecordings() { recorded_ = true; }
  // After Forward: destroys the top and lets the kernel write it again; false if it cannot.
  bool Recompute();

  const Values& bottom_values(int i) const { return bottom_values_[i]; }
  const Values& parameter_values(int i) const { return parameter_values_[i]; }
  const Values& top_diff_values(int i) const { return top_diff_values_[i]; }

  Values Top(int i) const { return Read(tops_[i]); }
  Values State(int i) const { return Read(states_[i]); }
  Values BottomDiff(int i) const { return Read(bottom_diffs_[i]); }
  Values ParameterDiff(int i) const { return Read(parameter_diffs_[i]); }
  bool HasBottomDiff(int i) const { return bottom_diffs_[i].data != nullptr; }

  // What Backward differentiates: the sum over the tops of top_diff * top; of losses their
  // weight * top.
  double Objective() const;
  bool IsLoss(int top) const { return layer_->LossWeight(top) != 0; }

  // The largest absolute value (NaN counts as infinite) in the padding of the storage of the
  // tops (after Forward) and of the gradients (after Backward).
  double TopPadding() const;
  double GradientPadding() const;

 private:
  Tensor New(const TensorDesc& desc) const;
  void Poison(const Tensor& tensor) const;
  void Write(const Tensor& tensor, const Values& values) const;
  Values Read(const Tensor& tensor) const;
  double PaddingOf(const Tensor& tensor) const;
  void UploadBottom(int i);
  // Does `call`, or replays its recording.
  void Enqueue(bool repeats, std::unique_ptr<Recording>* recording,
               const std::function<void()>& call);

  LayerCase test_;
  RunOptions options_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Layer> layer_;
  std::unique_ptr<Kernel> kernel_;
  KernelSetup setup_;
  KernelArgs args_;
  bool recorded_ = false;
  std::unique_ptr<Recording> forward_, backward_;

  std::vector<Values> bottom_values_, parameter_values_, state_values_, top_diff_values_;
  std::vector<Tensor> bottoms_, tops_, parameters_, master_, states_;
  std::vector<Tensor> bottom_diffs_, parameter_diffs_;
  std::vector<std::vector<Tensor>> top_diffs_;
  Tensor saved_, forward_scratch_, backward_scratch_;
};

// Root of the mean square.
double Rms(const Values& values);
// |a - b| <= tolerance * max(|a|, |b|, rms of b) for each element.
void ExpectNear(const Values& a, const Values& b, double tolerance, const std::string& what);
// Relative L2 error of a against b.
double RelativeError(const Values& a, const Values& b);

// The message of the UserError that SetUp throws; "" if it throws none.
std::string SetUpError(const LayerCase& test);

}  // namespace gf
