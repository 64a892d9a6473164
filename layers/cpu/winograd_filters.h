#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "layers/cpu/winograd_form.h"

namespace gf {

// Transformed filters of a pass by Winograd's algorithm and sums of their gradients: FP32
// [point][panel][input][output of the panel]. `inputs` and `outputs` are the channels that the pass
// reads and writes; panels hold 2 * lanes outputs (WinogradTable), the last one may hold `lanes`.
class WinogradFilters {
 public:
  WinogradFilters() = default;
  // `points`: of a tile along an axis. `mirrored`: the pass computes the gradient of images, so its
  // inputs are the results of the layer. Channels with padding are multiples of `lanes`.
  WinogradFilters(WinogradForm form, int points, bool mirrored, int64_t inputs,
                  int64_t padded_inputs, int64_t outputs, int64_t padded_outputs);

  int points() const { return FilterPointsOf(form_, points_); }        // of filters
  int64_t count() const { return point_step_ * points() * points(); }  // floats
  // The filters' point that a tile's point meets.
  int64_t PointOf(int row, int column) const {
    return FilterPointOf(form_, row) * points() + FilterPointOf(form_, column);
  }
  int64_t inputs() const { return inputs_; }  // without padding
  int64_t outputs() const { return outputs_; }
  int64_t panels() const { return panels_; }
  int64_t first_output(int64_t panel) const { return panel * most_columns_; }
  int columns(int64_t panel) const;  // outputs of the panel

  // A panel of transformed filters, [point][input][output of the panel].
  template <typename Float>  // float or const float
  struct Panel {
    Float* data;
    int64_t point_step;  // floats from point to point
    Float* At(int64_t point) const { return data + point * point_step; }
  };
  template <typename Float>
  Panel<Float> PanelOf(Float* data, int64_t panel) const {
    return {data + panel * most_columns_ * padded_inputs_, point_step_};
  }
  // A panel in a thread's own memory, and the floats that any panel needs.
  Panel<float> OwnPanel(float* data) const;
  int64_t PanelFloats() const { return OwnPanel(nullptr).point_step * points() * points(); }

  // From plain filters [O, I, taps, taps] of the layer.
  void Transform(const float* filters, float* to) const;
  // The same for one panel, by the calling thread alone.
  void TransformPanel(const float* filters, int64_t panel, const Panel<float>& to) const;
  // The gradient of plain filters, stored in `type`: FP32 or BF16. Not for `mirrored`.
  void StoreGradient(const float* sums, DType type, void* gradient) const;

 private:
  // Inputs that are handled together, so that memory is read and written in long runs.
  static constexpr int64_t kTogether = 8;
  struct Chunk {
    int64_t input, inputs, panel;
  };
  Chunk ChunkOf(int64_t panel, int64_t index) const;  // of chunks() of the panel
  int64_t chunks() const { return (padded_inputs_ + kTogether - 1) / kTogether; }
  int64_t packed_count() const;  // floats of a chunk in packed order, at most
  // Calls body(chunk, packed), where `packed` is memory for filters in packed order.
  template <typename Body>
  void ForChunks(const Body& body) const;
  // Calls body(output, its first tap in packed order) for the outputs of the chunk.
  template <typename Body>
  void ForRuns(const Chunk& chunk, const Body& body) const;
  // The index of the first tap of a filter in plain order.
  int64_t Plain(int64_t input, int64_t output) const {
    return (mirrored_ ? input * outputs_ + output : output * inputs_ + input) * taps_ * taps_;
  }
  void TransformChunk(const float* filters, const Chunk& chunk, float* packed,
                      const Panel<float>& to) const;
  // From plain to packed order, with zeros for padding.
  void Pack(const float* filters, const Chunk& chunk, float* packed) const;
  void Unpack(const float* packed, const Chunk& chunk, DType type, void* filters) const;

  WinogradForm form_ = WinogradForm::kThreeTaps;
  int taps_ = 0, points_ = 0, lanes_ = 0, most_columns_ = 0;
  bool mirrored_ = false;
  int64_t inputs_ = 0, padded_inputs_ = 0, outputs_ = 0, padded_outputs_ = 0;
  int64_t panels_ = 0, point_step_ = 0;
};

}  // namespace gf
