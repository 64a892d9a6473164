#include "layers/cpu/winograd_convolution.h"

#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <string>

#include "core/cpu/channel_view.h"
#include "core/parallel.h"
#include "layers/cpu/elementwise.h"
#include "layers/cpu/winograd_choice.h"
#include "layers/cpu/winograd_filters.h"
#include "layers/cpu/winograd_kernels.h"
#include "layers/cpu/winograd_pass.h"
#include "layers/cpu/winograd_product_kernels.h"
#include "layers/cpu/winograd_tiles.h"
#include "layers/cpu/winograd_weights.h"

namespace gf {
namespace {

// The tensor of a view; false if its channels do not fit the kernels.
bool GetTensor(const TensorDesc& desc, WinogradTensor* tensor) {
  ChannelView view;
  if (!GetChannelView(desc, &view) || view.block % WinogradTable().lanes != 0) return false;
  constexpr size_t kLarge = size_t{8} << 20;
  *tensor = {view.padded_channels(), view.block, desc.shape[2], desc.shape[3],
             desc.bytes() >= kLarge};
  return true;
}

// T is the C++ type of the compute type.
template <typename T>
class WinogradConvolution : public Kernel {
 public:
  WinogradConvolution(const ConvolutionLayer& layer, const KernelContext& context)
      : layer_(layer), device_(context.device), type_(context.compute) {}

  bool CanOmitBottomDiff() const override { return true; }
  std::string Describe() const override { return "own Winograd"; }

  void Setup(KernelSetup* setup) override {
    ChooseLayouts(setup);
    top_count_ = setup->tops[0].storage_count();
    channels_ = setup->bottoms[0].shape[1];
    outputs_ = setup->tops[0].shape[1];
    images_of_plan_ = ImagesOfPlan(*setup);
    most_points_ = MostPoints(*setup, FormOf(layer_), type_);
    const int64_t images = setup->bottoms[0].shape[0];
    keeps_filters_ = !setup->backward;
    forward_ = NewPass(Use::kForward, images);
    setup->forward_scratch_bytes = (forward_.floats() + BiasFloats()) * sizeof(float);
    if (keeps_filters_) {
      setup->kept_bytes = forward_.filters.count() * sizeof(float);
      return;
    }
    setup->forward_scratch_bytes += forward_.FilterFloats() * sizeof(float);
    trains_ = setup->trains;
    setup->skips_parameter_diffs = !trains_;
    int64_t floats = 0;
    if (trains_) {
      weights_ = WinogradWeights<T>(NewPass(Use::kWeights, images), layer_.bias());
      floats = weights_.floats();
    }
    if (setup->propagate[0]) {
      data_ = NewPass(Use::kData, images);
      floats = std::max(floats, data_.FilterFloats() + data_.floats());
    }
    setup->backward_scratch_bytes = floats * sizeof(float);
    setup->needs_bottom[0] = trains_;
    setup->needs_top[0] = layer_.relu_backward();
  }

  void Forward(const KernelArgs& args) override {
    float* const scratch = static_cast<float*>(args.scratch);
    float* const bias = layer_.bias() ? scratch : nullptr;
    if (layer_.bias()) {
      std::fill(std::copy_n(args.master[1], outputs_, bias), bias + results_.channels, 0.f);
    }
    Convolve(forward_,
             {args.master[0], keeps_filters_ ? KeptFilters(args) : nullptr, bias, layer_.relu(),
              static_cast<const T*>(args.bottoms[0]), static_cast<T*>(args.tops[0])},
             scratch + BiasFloats());
  }

  // The gradients of the parameters come first: they can travel while the rest is computed.
  void Backward(const KernelArgs& args) override {
    T* const dy = static_cast<T*>(args.top_diffs[0][0]);
    if (layer_.relu_backward()) MaskByRelu(type_, args.tops[0], dy, top_count_);
    if (trains_) {
      weights_.Compute(static_cast<const T*>(args.bottoms[0]), dy,
                       static_cast<float*>(args.scratch), args.parameter_diffs[0],
                       layer_.bias() ? args.parameter_diffs[1] : nullptr);
    }
    if (args.bottom_diffs[0] == nullptr) return;
    Convolve(data_,
             {args.master[0], /*transformed=*/nullptr, /*bias=*/nullptr, /*relu=*/false, dy,
              static_cast<T*>(args.bottom_diffs[0])},
             static_cast<float*>(args.scratch));
  }

 private:
  static const WinogradFunctions<T>& functions() { return FunctionsFor<T>(WinogradTable()); }

  // Keeps layouts whose channels lie side by side in vectors; asks for blocks otherwise.
  void ChooseLayouts(KernelSetup* setup) {
    TensorDesc &bottom = setup->bottoms[0], &top = setup->tops[0];
    ChannelView view;
    view.block = WinogradTable().lanes;
    if (!GetTensor(bottom, &images_)) {
      bottom.layout = LayoutLike(view, bottom);
      CHECK(GetTensor(bottom, &images_)) << bottom.layout.Name();
    }
    CHECK(GetChannelView(bottom, &view));
    top.layout = LayoutLike(view, top);
    if (GetTensor(top, &results_)) return;
    view.channels_last = false;
    view.block = WinogradTable().lanes;
    top.layout = LayoutLike(view, top);
    CHECK(GetTensor(top, &results_)) << top.layout.Name();
  }

  // Whole cache lines, so that what follows is aligned.
  int64_t BiasFloats() const { return (results_.channels + 15) / 16 * 16; }

  enum class Use { kForward, kWeights, kData };

  WinogradPass NewPass(Use use, int64_t images) const {
    const bool mirrored = use == Use::kData;
    WinogradPass pass;
    pass.from = mirrored ? results_ : images_;
    pass.to = mirrored ? images_ : results_;
    const WinogradForm form = FormOf(layer_);
    pass.form = mirrored ? DataFormOf(form) : form;
    for (int i = 0; i < 2; ++i) {
      const int64_t pad = layer_.window().pad[i];
      pass.pad[i] = mirrored ? DataPadOf(form, pad) : pad;
    }
    const int64_t from = pass.from.channels, to = pass.to.channels;
    const WinogradPlan plan = PlanWinograd(images_of_plan_, {pass.to.height, pass.to.width},
                                           pass.form, from, to, most_points_);
    const int points = std::max(plan.splits[0].large, plan.splits[1].large);
    pass.filters = WinogradFilters(pass.form, points, mirrored, mirrored ? outputs_ : channels_,
                                   from, mirrored ? channels_ : outputs_, to);
    if (use == Use::kWeights) {
      pass.DivideSum(images, plan.splits);
    } else {
      pass.DivideTiles(images, plan.splits, /*filters_kept=*/keeps_filters_);
    }
    return pass;
  }

  // Without a backward pass, transformed filters are kept until the parameters change.
  const float* KeptFilters(const KernelArgs& args) {
    if (kept_filters_ == nullptr) {
      kept_filters_ = device_->Allocate(forward_.filters.count() * sizeof(float));
    }
    float* const kept = static_cast<float*>(kept_filters_.get());
    if (kept_version_ != args.parameters_version) forward_.filters.Transform(args.master[0], kept);
    kept_version_ = args.parameters_version;
    return kept;
  }

  // y = x * filters + bias, then a ReLU if `relu`.
  struct Operands {
    const float* filters;      // of the layer
    const float* transformed;  // null: to be transformed
    const float* bias;         // null: none
    bool relu;
    const T* x;
    T* y;
  };

  // `space`: pass.floats() floats, and pass.FilterFloats() unless the filters are transformed
  // already.
  void Convolve(const WinogradPass& pass, Operands operands, float* space) const {
    float* const filters = space + pass.floats();
    if (pass.work == WinogradPass::Work::kPanels) {
      return ConvolvePanels(pass, operands, space, filters);
    }
    if (operands.transformed == nullptr) {
      pass.filters.Transform(operands.filters, filters);
      operands.transformed = filters;
    }
    const int64_t groups = pass.tiles.groups();
    if (pass.work == WinogradPass::Work::kShared) {
      for (int64_t i = 0; i < groups; ++i) {
        ConvolveGroup(pass, pass.tiles.Group(i), pass.threads, operands, space);
      }
      return;
    }
    ParallelForFree(pass.threads, groups, 1, [&](int64_t thread, int64_t i, int64_t) {
      ConvolveGroup(pass, pass.tiles.Group(i), /*threads=*/1, operands,
                    space + thread * pass.GroupFloats());
    });
  }

  // `space`: pass.GroupFloats() floats.
  void ConvolveGroup(const WinogradPass& pass, const WinogradGroup& group, int threads,
                     const Operands& operands, float* space) const {
    const WinogradSpace images = TransformImages(pass, group, threads, operands, space);
    float* const products = space + pass.SpaceFloats(pass.from);
    const int64_t blocks = pass.Blocks(group);
    ParallelForFree(threads, pass.filters.panels() * blocks, 1,
                    [&](int64_t thread, int64_t part, int64_t) {
                      const int64_t panel = part / blocks;
                      ConvolvePart(pass, group, part % blocks, panel,
                                   pass.filters.PanelOf(operands.transformed, panel), operands,
                                   images, pass.Products(products + thread * pass.ProductFloats()));
                    });
  }

  // `filters`: pass.FilterFloats() floats.
  void ConvolvePanels(const WinogradPass& pass, const Operands& operands, float* space,
                      float* filters) const {
    const WinogradGroup group = pass.tiles.Group(0);
    const WinogradSpace images = TransformImages(pass, group, pass.threads, operands, space);
    float* const products = space + pass.SpaceFloats(pass.from);
    ParallelForFree(
        pass.threads, pass.filters.panels(), 1, [&](int64_t thread, int64_t panel, int64_t) {
          const auto own = pass.filters.OwnPanel(filters + thread * pass.filters.PanelFloats());
          pass.filters.TransformPanel(operands.filters, panel, own);
          for (int64_t block = 0; block < pass.Blocks(group); ++block) {
            ConvolvePart(pass, group, block, panel, {own.data, own.point_step}, operands, images,
                         pass.Products(products + thread * pass.ProductFloats()));
          }
        });
  }

  WinogradSpace TransformImages(const WinogradPass& pass, const WinogradGroup& group, int threads,
                                const Operands& operands, float* space) const {
    const WinogradSpace images = pass.Space(pass.from, space);
    const int64_t together =
        std::clamp<int64_t>(group.count() / threads, 1, kWinogradTilesTogether);
    ParallelForFree(threads, group.count(), together, [&](int64_t, int64_t begin, int64_t end) {
      functions().images(pass.from, operands.x, group.tiles.data() + begin, end - begin, pass.form,
                         pass.pad.data(), images.AtTile(begin));
    });
    return images;
  }

  // The results of a block of the group's tiles and a panel of filters.
  void ConvolvePart(const WinogradPass& pass, const WinogradGroup& group, int64_t block,
                    int64_t panel, const WinogradFilters::Panel<const float>& filters,
                    const Operands& operands, const WinogradSpace& images,
                    const WinogradSpace& products) const {
    const WinogradTiles::Range tiles = pass.Block(group, block);
    const int points = pass.tiles.points(), columns = pass.filters.columns(panel);
    for (int point = 0; point < points * points; ++point) {
      WinogradTiles::Range range = pass.tiles.TilesWith(group, point / points, point % points);
      range = {std::max(range.begin, tiles.begin), std::min(range.end, tiles.end)};
      if (range.begin >= range.end) continue;
      WinogradProduct p;
      p.rows = range.end - range.begin;
      p.depth = pass.filters.inputs();
      p.columns = columns;
      p.a = images.AtTile(range.begin).data + point * images.point_step;
      p.a_row = images.tile_step;
      p.a_step = 1;
      p.b = filters.At(pass.filters.PointOf(point / points, point % points));
      p.b_step = columns;
      p.c = products.AtTile(range.begin - tiles.begin).data + point * products.point_step;
      p.c_row = products.tile_step;
      WinogradProducts().multiply(p);
    }
    functions().results(pass.to, pass.filters.first_output(panel), columns, products,
                        group.tiles.data() + tiles.begin, tiles.end - tiles.begin, pass.form,
                        operands.bias, operands.relu, operands.y);
  }

  const ConvolutionLayer& layer_;
  Device* const device_;
  const DType type_;
  WinogradTensor images_, results_;
  int64_t images_of_plan_ = 0;
  int64_t channels_ = 0, outputs_ = 0;  // without padding
  int most_points_ = 0;
  WinogradPass forward_, data_;  // of Forward, of the gradient of images
  WinogradWeights<T> weights_;
  int64_t top_count_ = 0;
  bool keeps_filters_ = false;
  std::shared_ptr<void> kept_filters_;
  uint64_t kept_version_ = 0;
  bool trains_ = false;  // whether Backward computes gradients of the parameters
};

}  // namespace

std::unique_ptr<Kernel> NewWinogradConvolution(const ConvolutionLayer& layer,
                                               const KernelContext& context) {
  if (context.compute == DType::kFP32) {
    return std::make_unique<WinogradConvolution<float>>(layer, context);
  }
  return std::make_unique<WinogradConvolution<uint16_t>>(layer, context);
}

}  // namespace gf
