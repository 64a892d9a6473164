#include "solvers/evaluate/tally.h"

#include <cstdio>

#include "core/readable.h"

namespace gf {

std::string FigureText(const Figure& figure) {
  if (!figure.value) return "none";
  if (figure.kind == Figure::kCount) return WithCommas(static_cast<int64_t>(*figure.value));
  const bool share = figure.kind == Figure::kShare;
  char text[32];
  std::snprintf(text, sizeof(text), share ? "%.2f %%" : "%.6g", (share ? 100 : 1) * *figure.value);
  return text;
}

}  // namespace gf
