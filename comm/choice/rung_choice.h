#pragma once

#include "comm/flow/exchange_choice.h"

namespace gf {

// Chooses among the priced rungs, which include the first of LAZY, and writes the verdicts. A pure
// function of figures that all ranks have alike.
//
// Note [Which rung]
// A rung is mild enough to be taken if it
//   leaves at most `limit * compute` seconds exposed,
//   makes the step no longer than LAZY does,
//   and, unless it sends all gradients as they are, makes the step at most kSlower longer than the
//   fastest rung does: a compressor whose arithmetic takes longer than it saves is no gain.
// SPARSE updates fewer weights, so its step can be shorter than the compute of other modes.
// The mildest of these is taken; if there is none, the fastest rung of all.
void ChooseRung(ExchangeChoice* choice);

}  // namespace gf
