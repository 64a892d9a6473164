#include <memory>
#include <utility>

#include "comm/low_rank/matrix_work.h"
#include "core/tensor.h"

namespace gf {
namespace {

// Elements in an order that only the device knows. It converts them to rows and back.
class ConvertedMatrix : public MatrixWork {
 public:
  ConvertedMatrix(const MatrixMemory& memory, const PoolEntry& entry, Device* device,
                  float* workspace)
      : device_(device),
        gradient_(View(memory.gradient, {entry.shape, memory.type, entry.layout})),
        residual_(View(memory.residual, {entry.shape, DType::kFP32, entry.layout})),
        gradient_rows_(View(workspace, {entry.shape, DType::kFP32, Layout()})),
        residual_rows_(View(workspace + memory.rows * memory.columns, gradient_rows_.desc)),
        rows_(NewPlainMatrix({memory.rows, memory.columns, memory.rank, gradient_rows_.data,
                              DType::kFP32, residual_rows_.as<float>(), memory.left,
                              memory.right})) {}

  void Project() override {
    Convert(gradient_, gradient_rows_);
    Convert(residual_, residual_rows_);
    rows_->Project();
    Convert(residual_rows_, residual_);
    late_ = false;
  }
  void Correlate() override {
    Convert(residual_, residual_rows_);
    rows_->Correlate();
    late_ = true;
  }
  void Expand() override {
    rows_->Expand();
    Convert(gradient_rows_, gradient_);
  }
  void Settle() override {
    if (!std::exchange(late_, false)) return;
    Convert(residual_, residual_rows_);
    rows_->Settle();
    Convert(residual_rows_, residual_);
  }

 private:
  static Tensor View(void* data, const TensorDesc& desc) {
    Tensor tensor;
    tensor.desc = desc;
    tensor.data = data;
    return tensor;
  }
  void Convert(const Tensor& from, const Tensor& to) {
    device_->Convert(from, to, device_->compute_stream());
  }

  Device* const device_;
  const Tensor gradient_, residual_;            // in the pools
  const Tensor gradient_rows_, residual_rows_;  // in the workspace
  const std::unique_ptr<MatrixWork> rows_;
  bool late_ = false;  // see Note [Late subtraction]
};

}  // namespace

std::unique_ptr<MatrixWork> NewConvertedMatrix(const MatrixMemory& memory, const PoolEntry& entry,
                                               Device* device, float* workspace) {
  return std::make_unique<ConvertedMatrix>(memory, entry, device, workspace);
}

}  // namespace gf
