#pragma once

#include <vector>

#include "comm/plan.h"

namespace gf {

// How a world is reduced to a power of two (Thakur, Rabenseifner and Gropp, "Optimization of
// collective communication operations in MPICH", IJHPCA 2005): of the first ranks in node order,
// every second one is an extra that hands its values to its neighbor, a core rank, and gets the
// result later.
struct Fold {
  std::vector<int> core;   // ranks; a power of two of them
  std::vector<int> extra;  // extra[i] = the rank that core[i] stands for besides itself, or -1
};

Fold MakeFold(const Topology& topology);

// The first step of extras and of their core ranks: the whole vector goes to the core rank. `i` is
// the place of `rank` in fold.core or fold.extra; `parts` are the plan's.
void AppendFoldIn(const Fold& fold, int rank, int i, int parts, std::vector<PlanStep>* steps);

}  // namespace gf
