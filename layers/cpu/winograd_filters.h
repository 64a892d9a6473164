#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// Transformed filters of a pass by Winograd's algorithm and sums of their gradients: FP32
// [point][panel][input][output of the panel]. `inputs` and `outputs` are the channels that the pass
// reads and writes; panels hold 2 * lanes outputs (WinogradTable), the last one may hold `lanes`.
class WinogradFilters {
 public:
  WinogradFilters() = default;
  // `points`: along an axis. `mirrored`: the pass computes the gradient of images, so its inputs
  // are the results of the layer. Channels with padding are multiples of `lanes`.
  WinogradFilters(int taps, int points, bool mirrored, int64_t inputs, int64_t padded_inputs,
                  int64_t outputs, int64_t padded_outputs);

  int64_t count() const { return point_step_ * points_ * points_; }  // floats
  int64_t inputs() const { return inputs_; }                         // without padding
  int64_t outputs() const { return outputs_; }
  int64_t panels() const { return panels_; }
  int64_t first_output(int64_t panel) const { return panel * most_columns_; }
  int columns(int64_t panel) const;  // outputs of the panel
  // The first float of a panel.
  template <typename Float>  // float or const float
  Float* At(Float* data, int64_t point, int64_t panel) const {
    return data + point * point_step_ + panel * most_columns_ * padded_inputs_;
  }

  // From plain filters [O, I, taps, taps] of the layer.
  void Transform(const float* filters, float* to) const;
  // The gradient of plain filters, stored in `type`. Not for `mirrored`.
  void StoreGradient(const float* sums, DType type, void* gradient) const;

 private:
  // Inputs that are handled together, so that memory is read and written in long runs.
  static constexpr int64_t kTogether = 8;
  struct Chunk {
    int64_t input, inputs, panel;
  };
  static constexpr int kMostFilterTaps = 25;
  // Calls body(chunk, packed, transformed), where the last two are memory for filters in packed
  // order and for transformed ones, [point][input][column].
  template <typename Body>
  void ForChunks(const Body& body) const;
  // Calls body(output, its first tap in packed order) for the outputs of the chunk.
  template <typename Body>
  void ForRuns(const Chunk& chunk, const Body& body) const;
  // The index of the first tap of a filter in plain order.
  int64_t Plain(int64_t input, int64_t output) const {
    return (mirrored_ ? input * outputs_ + output : output * inputs_ + input) * taps_ * taps_;
  }
  // From plain to packed order, with zeros for padding.
  void Pack(const float* filters, const Chunk& chunk, float* packed) const;
  void Unpack(const float* packed, const Chunk& chunk, DType type, void* filters) const;

  int taps_ = 0, points_ = 0, lanes_ = 0, most_columns_ = 0;
  bool mirrored_ = false;
  int64_t inputs_ = 0, padded_inputs_ = 0, outputs_ = 0, padded_outputs_ = 0;
  int64_t panels_ = 0, point_step_ = 0;
};

}  // namespace gf
