#include "layers/cpu/winograd_filters.h"

#include <algorithm>
#include <vector>

#include "core/parallel.h"
#include "layers/cpu/winograd_kernels.h"
#include "layers/cpu/winograd_tiles.h"

namespace gf {
namespace {

// to[i * to_step] = from[i * from_step] for the taps of a filter.
template <int kTaps>
void CopyTaps(const float* from, int64_t from_step, float* to, int64_t to_step) {
#pragma GCC unroll 25
  for (int i = 0; i < kTaps; ++i) to[i * to_step] = from[i * from_step];
}

}  // namespace

WinogradFilters::WinogradFilters(WinogradForm form, int points, bool mirrored, int64_t inputs,
                                 int64_t padded_inputs, int64_t outputs, int64_t padded_outputs)
    : form_(form),
      taps_(TapsOf(form)),
      points_(points),
      lanes_(WinogradTable().lanes),
      most_columns_(2 * lanes_),
      mirrored_(mirrored),
      inputs_(inputs),
      padded_inputs_(padded_inputs),
      outputs_(outputs),
      padded_outputs_(padded_outputs),
      panels_((padded_outputs + most_columns_ - 1) / most_columns_),
      point_step_(WinogradStep(padded_inputs * padded_outputs)) {}

int WinogradFilters::columns(int64_t panel) const {
  return static_cast<int>(std::min<int64_t>(most_columns_, padded_outputs_ - first_output(panel)));
}

WinogradFilters::Panel<float> WinogradFilters::OwnPanel(float* data) const {
  return {data, WinogradStep(padded_inputs_ * most_columns_)};
}

WinogradFilters::Chunk WinogradFilters::ChunkOf(int64_t panel, int64_t index) const {
  const int64_t input = index * kTogether;
  return {input, std::min(kTogether, padded_inputs_ - input), panel};
}

int64_t WinogradFilters::packed_count() const { return kTogether * most_columns_ * taps_ * taps_; }

template <typename Body>
void WinogradFilters::ForChunks(const Body& body) const {
  ParallelFor(panels_ * chunks(), 1, [&](int64_t begin, int64_t end) {
    std::vector<float> packed(packed_count());
    for (int64_t i = begin; i < end; ++i) {
      body(ChunkOf(i / chunks(), i % chunks()), packed.data());
    }
  });
}

// Packed order: [input][vector of the panel][tap][lane].
template <typename Body>
void WinogradFilters::ForRuns(const Chunk& chunk, const Body& body) const {
  const int columns = this->columns(chunk.panel);
  for (int c = 0; c < columns; ++c) {
    body(first_output(chunk.panel) + c, c / lanes_ * lanes_ * taps_ * taps_ + c % lanes_);
  }
}

void WinogradFilters::Pack(const float* filters, const Chunk& chunk, float* packed) const {
  const int taps = taps_ * taps_;
  const auto copy = taps_ == 3 ? &CopyTaps<9> : &CopyTaps<25>;
  const int64_t step = columns(chunk.panel) * taps;  // from input to input
  const int64_t inputs = std::clamp<int64_t>(inputs_ - chunk.input, 0, chunk.inputs);
  if (inputs < chunk.inputs || first_output(chunk.panel) + columns(chunk.panel) > outputs_) {
    std::fill_n(packed, chunk.inputs * step, 0.f);
  }
  ForRuns(chunk, [&](int64_t output, int64_t first) {
    if (output >= outputs_) return;
    for (int64_t i = 0; i < inputs; ++i) {
      const float* const from = filters + Plain(chunk.input + i, output);
      float* const to = packed + first + i * step;
      if (mirrored_) {
        copy(from + taps - 1, -1, to, lanes_);
      } else {
        copy(from, 1, to, lanes_);
      }
    }
  });
}

void WinogradFilters::Unpack(const float* packed, const Chunk& chunk, DType type,
                             void* filters) const {
  const int taps = taps_ * taps_;
  const auto copy = taps_ == 3 ? &CopyTaps<9> : &CopyTaps<25>;
  const int64_t step = columns(chunk.panel) * taps;
  const int64_t inputs = std::min(chunk.inputs, inputs_ - chunk.input);
  if (inputs <= 0) return;
  ForRuns(chunk, [&](int64_t output, int64_t first) {
    if (output >= outputs_) return;
    const float* from = packed + first;
    const int64_t at = Plain(chunk.input, output);
    for (int64_t i = 0; i < inputs; ++i, from += step) {
      if (type == DType::kFP32) {
        copy(from, lanes_, static_cast<float*>(filters) + at + i * taps, 1);
      } else {
        uint16_t* const to = static_cast<uint16_t*>(filters) + at + i * taps;
        for (int t = 0; t < taps; ++t) to[t] = ToBF16(from[t * lanes_]);
      }
    }
  });
}

void WinogradFilters::TransformChunk(const float* filters, const Chunk& chunk, float* packed,
                                     const Panel<float>& to) const {
  Pack(filters, chunk, packed);
  const int columns = this->columns(chunk.panel);
  float* const first = to.data + chunk.input * columns;
  for (int64_t i = 0; i < chunk.inputs * columns; i += lanes_) {
    WinogradTable().filter(packed + i * taps_ * taps_, form_, points_, first + i, to.point_step);
  }
}

void WinogradFilters::Transform(const float* filters, float* to) const {
  ForChunks([&](const Chunk& chunk, float* packed) {
    TransformChunk(filters, chunk, packed, PanelOf(to, chunk.panel));
  });
}

void WinogradFilters::TransformPanel(const float* filters, int64_t panel,
                                     const Panel<float>& to) const {
  std::vector<float> packed(packed_count());
  for (int64_t i = 0; i < chunks(); ++i) {
    TransformChunk(filters, ChunkOf(panel, i), packed.data(), to);
  }
}

void WinogradFilters::StoreGradient(const float* sums, DType type, void* gradient) const {
  ForChunks([&](const Chunk& chunk, float* packed) {
    const auto from = PanelOf(sums, chunk.panel);
    const int columns = this->columns(chunk.panel);
    const float* const first = from.data + chunk.input * columns;
    for (int64_t i = 0; i < chunk.inputs * columns; i += lanes_) {
      WinogradTable().filter_gradient(first + i, from.point_step, form_, points_,
                                      packed + i * taps_ * taps_);
    }
    Unpack(packed, chunk, type, gradient);
  });
}

}  // namespace gf
