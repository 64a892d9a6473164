#include "layers/concat.h"

#include <vector>

#include "layers/cuda/concat_kernels.h"
#include "layers/cuda/kernel_context.h"

namespace gf {
namespace {

// The top consists of rows, and each bottom provides a part of every row. A row is a pixel if
// channels are joined; otherwise rows are counted by the axes before the concatenated one.
class ConcatKernel : public RepeatingKernel {
 public:
  ConcatKernel(const ConcatLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Plan(KernelPlan* plan) override {
    const bool channels = layer_.axis() == 1 && plan->tops[0].shape.rank() > 2;
    const auto set = [&](TensorDesc* desc) {
      desc->layout = channels ? ImageLayout(desc->shape) : Layout();
    };
    set(&plan->tops[0]);
    const Shape& top = plan->tops[0].shape;
    rows_ = channels ? top.count() / top[1] : top.count(0, layer_.axis());
    row_bytes_ = plan->tops[0].bytes() / rows_;
    for (TensorDesc& bottom : plan->bottoms) {
      set(&bottom);
      piece_bytes_.push_back(bottom.bytes() / rows_);
    }
  }

  void Forward(const KernelArgs& args) override {
    ForPieces(args.bottoms,
              [&](const RowPieces& pieces) { JoinRows(pieces, args.tops[0], StreamOf(context_)); });
  }

  void Backward(const KernelArgs& args) override {
    ForPieces(args.bottom_diffs, [&](const RowPieces& pieces) {
      SplitRows(pieces, args.top_diffs[0][0], StreamOf(context_));
    });
  }

 private:
  // Calls f for groups of pieces, as many as one launch takes.
  template <typename Pointer, typename F>
  void ForPieces(const std::vector<Pointer>& bottoms, const F& f) const {
    int64_t begin = 0;
    for (size_t i = 0; i < bottoms.size();) {
      RowPieces pieces;
      pieces.rows = rows_;
      pieces.row_bytes = row_bytes_;
      for (; i < bottoms.size() && pieces.count < RowPieces::kMost; begin += piece_bytes_[i++]) {
        pieces.pieces[pieces.count++] = {const_cast<void*>(static_cast<const void*>(bottoms[i])),
                                         begin, piece_bytes_[i]};
      }
      f(pieces);
    }
  }

  const ConcatLayer& layer_;
  const KernelContext context_;
  int64_t rows_ = 0, row_bytes_ = 0;
  std::vector<int64_t> piece_bytes_;  // bytes of each bottom in a row
};

GF_REGISTER(KernelRegistry, "cuda/Concat", KernelOf<ConcatLayer, ConcatKernel>);

}  // namespace
}  // namespace gf
