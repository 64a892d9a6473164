#include "layers/cpu/winograd_weights.h"

#include <algorithm>
#include <type_traits>

#include "core/parallel.h"
#include "layers/cpu/elementwise.h"
#include "layers/cpu/winograd_kernels.h"
#include "layers/cpu/winograd_product_kernels.h"
#include "layers/cpu/winograd_tiles.h"

namespace gf {

template <typename T>
WinogradWeights<T>::WinogradWeights(const WinogradPass& pass, bool bias)
    : pass_(pass),
      bias_(bias),
      tile_points_(int64_t{pass.filters.points()} * pass.filters.points()) {
  const int points = pass.tiles.points();
  for (int point = 0; point < points * points; ++point) {
    tile_points_[pass.filters.PointOf(point / points, point % points)].push_back(point);
  }
}

template <typename T>
bool WinogradWeights<T>::OwnParts() const {
  return DividesEvenly(pass_.parts, pass_.threads);
}

template <typename T>
int64_t WinogradWeights<T>::spaces() const {
  return OwnParts() ? pass_.threads : 1;
}

template <typename T>
int64_t WinogradWeights<T>::SumFloats() const {
  return pass_.filters.count() + (bias_ ? pass_.to.channels : 0);
}

template <typename T>
int64_t WinogradWeights<T>::SpaceFloats() const {
  return pass_.SpaceFloats(pass_.from) + pass_.SpaceFloats(pass_.to) +
         (bias_ ? pass_.tiles.most_tiles() * pass_.to.channels : 0);
}

template <typename T>
int64_t WinogradWeights<T>::floats() const {
  return pass_.parts * SumFloats() + spaces() * SpaceFloats();
}

template <typename T>
typename WinogradWeights<T>::Sums WinogradWeights<T>::SumsOf(int64_t part, float* scratch) const {
  float* const filters = scratch + part * SumFloats();
  return {filters, filters + pass_.filters.count()};
}

template <typename T>
typename WinogradWeights<T>::Space WinogradWeights<T>::SpaceOf(int64_t thread,
                                                               float* scratch) const {
  float* const images = scratch + pass_.parts * SumFloats() + thread * SpaceFloats();
  float* const gradients = images + pass_.SpaceFloats(pass_.from);
  float* const tile_sums = gradients + pass_.SpaceFloats(pass_.to);
  return {pass_.Space(pass_.from, images), pass_.Space(pass_.to, gradients),
          bias_ ? tile_sums : nullptr};
}

template <typename T>
void WinogradWeights<T>::Compute(const T* x, const T* dy, float* scratch, void* filters,
                                 void* biases) const {
  if (OwnParts()) {
    ParallelForFree(pass_.threads, pass_.parts, 1, [&](int64_t thread, int64_t part, int64_t) {
      SumPart(part, /*threads=*/1, x, dy, SumsOf(part, scratch), SpaceOf(thread, scratch));
    });
  } else {
    for (int64_t part = 0; part < pass_.parts; ++part) {
      SumPart(part, pass_.threads, x, dy, SumsOf(part, scratch), SpaceOf(0, scratch));
    }
  }
  AddParts(scratch);
  constexpr DType kType = std::is_same_v<T, float> ? DType::kFP32 : DType::kBF16;
  const Sums sums = SumsOf(0, scratch);
  pass_.filters.StoreGradient(sums.filters, kType, filters);
  for (int64_t o = 0; bias_ && o < pass_.filters.outputs(); ++o) {
    StoreElement(biases, o, kType, sums.biases[o]);
  }
}

template <typename T>
void WinogradWeights<T>::SumPart(int64_t part, int threads, const T* x, const T* dy,
                                 const Sums& sums, const Space& space) const {
  if (bias_) std::fill_n(sums.biases, pass_.to.channels, 0.f);
  const int64_t groups = pass_.tiles.groups(), first = groups * part / pass_.parts,
                end = groups * (part + 1) / pass_.parts;
  const int64_t points = pass_.filters.points() * pass_.filters.points(),
                panels = pass_.filters.panels();
  for (int64_t i = first; i < end; ++i) {
    const WinogradGroup group = pass_.tiles.Group(i);
    TransformGroup(group, threads, x, dy, space);
    const bool in_order = threads == 1 && !IsStrided(pass_.form);
    ParallelForFree(threads, points * panels, 1, [&](int64_t, int64_t product, int64_t) {
      const int64_t panel = product % panels;
      AddProducts(group, static_cast<int>(product / panels), panel, /*add=*/i > first,
                  /*panel_follows=*/in_order && panel + 1 < panels, space, sums.filters);
    });
    for (int64_t tile = 0; bias_ && tile < group.count(); ++tile) {
      const float* const of_tile = space.tile_sums + tile * pass_.to.channels;
      for (int64_t o = 0; o < pass_.to.channels; ++o) sums.biases[o] += of_tile[o];
    }
  }
}

template <typename T>
void WinogradWeights<T>::TransformGroup(const WinogradGroup& group, int threads, const T* x,
                                        const T* dy, const Space& space) const {
  const WinogradFunctions<T>& functions = FunctionsFor<T>(WinogradTable());
  const int64_t together = std::clamp<int64_t>(group.count() / threads, 1, kWinogradTilesTogether);
  ParallelForFree(threads, group.count(), together, [&](int64_t, int64_t begin, int64_t end) {
    const WinogradTile* const tiles = group.tiles.data() + begin;
    functions.images(pass_.from, x, tiles, end - begin, pass_.form, pass_.pad.data(),
                     space.images.AtTile(begin));
    functions.gradients(pass_.to, dy, tiles, end - begin, pass_.form, space.gradients.AtTile(begin),
                        bias_ ? space.tile_sums + begin * pass_.to.channels : nullptr);
  });
}

template <typename T>
void WinogradWeights<T>::AddProducts(const WinogradGroup& group, int filter_point, int64_t panel,
                                     bool add, bool panel_follows, const Space& space,
                                     float* sums) const {
  const int points = pass_.tiles.points();
  for (const int point : tile_points_[filter_point]) {
    const WinogradTiles::Range range = pass_.tiles.TilesWith(group, point / points, point % points);
    if (add && range.begin == range.end) continue;
    WinogradProduct p;
    p.rows = pass_.filters.inputs();
    p.depth = range.end - range.begin;
    p.columns = pass_.filters.columns(panel);
    p.a = space.images.AtTile(range.begin).data + point * space.images.point_step;
    p.a_row = 1;
    p.a_step = space.images.tile_step;
    p.b = space.gradients.AtTile(range.begin).data + point * space.gradients.point_step +
          pass_.filters.first_output(panel);
    p.b_step = space.gradients.tile_step;
    if (panel_follows) p.next_b = p.b + p.columns;
    p.c = pass_.filters.PanelOf(sums, panel).At(filter_point);
    p.c_row = p.columns;
    p.add = add;
    WinogradProducts().multiply(p);
    add = true;
  }
}

// To part 0.
template <typename T>
void WinogradWeights<T>::AddParts(float* scratch) const {
  const Sums to = SumsOf(0, scratch);
  ParallelFor(pass_.filters.count(), kElementGrain, [&](int64_t begin, int64_t end) {
    for (int64_t part = 1; part < pass_.parts; ++part) {
      const float* const from = SumsOf(part, scratch).filters;
      for (int64_t i = begin; i < end; ++i) to.filters[i] += from[i];
    }
  });
  for (int64_t part = 1; bias_ && part < pass_.parts; ++part) {
    const float* const from = SumsOf(part, scratch).biases;
    for (int64_t o = 0; o < pass_.to.channels; ++o) to.biases[o] += from[o];
  }
}

template class WinogradWeights<float>;
template class WinogradWeights<uint16_t>;

}  // namespace gf
