#include "layers/cpu/winograd_filters.h"

#include <algorithm>
#include <vector>

#include "core/parallel.h"
#include "layers/cpu/elementwise.h"
#include "layers/cpu/winograd_kernels.h"
#include "layers/cpu/winograd_tiles.h"

namespace gf {

WinogradFilters::WinogradFilters(int taps, int points, bool mirrored, int64_t inputs,
                                 int64_t padded_inputs, int64_t outputs, int64_t padded_outputs)
    : taps_(taps),
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

template <typename Body>
void WinogradFilters::ForChunks(const Body& body) const {
  const int64_t chunks = (padded_inputs_ + kTogether - 1) / kTogether;
  const int64_t most = kTogether * most_columns_;
  ParallelFor(panels_ * chunks, 1, [&](int64_t begin, int64_t end) {
    std::vector<float> packed(most * taps_ * taps_), transformed(most * points_ * points_);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t input = i % chunks * kTogether;
      body(Chunk{input, std::min(kTogether, padded_inputs_ - input), i / chunks}, packed.data(),
           transformed.data());
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
  const int64_t step = columns(chunk.panel) * taps;  // from input to input
  ForRuns(chunk, [&](int64_t output, int64_t first) {
    for (int64_t i = 0; i < chunk.inputs; ++i) {
      float* const to = packed + first + i * step;
      const int64_t input = chunk.input + i;
      const bool exists = input < inputs_ && output < outputs_;
      const float* const from = exists ? filters + Plain(input, output) : nullptr;
      for (int t = 0; t < taps; ++t) {
        to[t * lanes_] = exists ? from[mirrored_ ? taps - 1 - t : t] : 0;
      }
    }
  });
}

void WinogradFilters::Unpack(const float* packed, const Chunk& chunk, DType type,
                             void* filters) const {
  const int taps = taps_ * taps_;
  const int64_t step = columns(chunk.panel) * taps;
  const int64_t inputs = std::min(chunk.inputs, inputs_ - chunk.input);
  if (inputs <= 0) return;
  float run[kTogether * kMostFilterTaps];  // neighbors in plain order
  ForRuns(chunk, [&](int64_t output, int64_t first) {
    if (output >= outputs_) return;
    for (int64_t i = 0; i < inputs; ++i) {
      const float* const from = packed + first + i * step;
      for (int t = 0; t < taps; ++t) run[i * taps + t] = from[t * lanes_];
    }
    const int64_t at = Plain(chunk.input, output);
    for (int64_t i = 0; i < inputs * taps; ++i) StoreElement(filters, at + i, type, run[i]);
  });
}

void WinogradFilters::Transform(const float* filters, float* to) const {
  const int taps = taps_ * taps_, points = points_ * points_;
  ForChunks([&](const Chunk& chunk, float* packed, float* transformed) {
    const int columns = this->columns(chunk.panel);
    const int64_t step = chunk.inputs * columns;
    Pack(filters, chunk, packed);
    for (int64_t i = 0; i < step; i += lanes_) {
      WinogradTable().filter(packed + i * taps, taps_, points_, transformed + i, step);
    }
    for (int point = 0; point < points; ++point) {
      std::copy_n(transformed + point * step, step,
                  At(to, point, chunk.panel) + chunk.input * columns);
    }
  });
}

void WinogradFilters::StoreGradient(const float* sums, DType type, void* gradient) const {
  const int taps = taps_ * taps_, points = points_ * points_;
  ForChunks([&](const Chunk& chunk, float* packed, float* transformed) {
    const int columns = this->columns(chunk.panel);
    const int64_t step = chunk.inputs * columns;
    for (int point = 0; point < points; ++point) {
      std::copy_n(At(sums, point, chunk.panel) + chunk.input * columns, step,
                  transformed + point * step);
    }
    for (int64_t i = 0; i < step; i += lanes_) {
      WinogradTable().filter_gradient(transformed + i, step, points_, taps_, packed + i * taps);
    }
    Unpack(packed, chunk, type, gradient);
  });
}

}  // namespace gf
