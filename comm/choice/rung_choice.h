#pragma once

#include "comm/flow/exchange_choice.h"

namespace gf {

// Chooses among the priced rungs, which include the first of LAZY, and writes the verdicts. A pure
// function; where ranks have different figures (SPARSE's chunks), rank 0's choice counts.
//
// Note [Which rung]
// A rung is good enough if its step is at most `slower` longer than the fastest rung's, and no
// longer than the step of LAZY. The mildest of these that leaves at most `limit * compute` seconds
// exposed is taken; if there is none, the mildest of these.
//
// The fastest rung need not be the one that sends the fewest bytes: its arithmetic may take longer
// than it saves. SPARSE updates fewer weights, so its step can be shorter than the compute of other
// modes.
void ChooseRung(ExchangeChoice* choice);

}  // namespace gf
