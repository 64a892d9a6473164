#pragma once

#include <algorithm>

#include "core/parallel.h"
#include "layers/class_axis.h"
#include "layers/cpu/elementwise.h"
#include "layers/cpu/softmax_kernels.h"

namespace gf {

// Calls body(outer, inner, span) in parallel for spans that cover all softmaxes of a view. A span
// begins at (outer, class 0, inner).
template <typename Body>
void ForSoftmaxSpans(const ClassAxis& view, const Body& body) {
  const int64_t spans = (view.inner + kSoftmaxWidth - 1) / kSoftmaxWidth;
  const int64_t work = view.classes * std::min<int64_t>(view.inner, kSoftmaxWidth);
  const int64_t grain = std::max<int64_t>(1, kElementGrain / work);
  ParallelFor(view.outer * spans, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t inner = i % spans * kSoftmaxWidth;
      const int64_t width = std::min<int64_t>(kSoftmaxWidth, view.inner - inner);
      body(i / spans, inner, SoftmaxSpan{view.classes, view.inner, static_cast<int>(width)});
    }
  });
}

// Index of the element (outer, class 0, inner).
inline int64_t SpanStart(const ClassAxis& view, int64_t outer, int64_t inner) {
  return outer * view.classes * view.inner + inner;
}

}  // namespace gf
