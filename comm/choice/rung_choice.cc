#include "comm/choice/rung_choice.h"

#include <glog/logging.h>

#include <cstdio>
#include <string>

namespace gf {
namespace {

std::string Percent(double fraction) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %%", 100 * fraction);
  return text;
}

}  // namespace

void ChooseRung(ExchangeChoice* choice) {
  const PricedRung *lazy = nullptr, *fastest = nullptr;
  for (const PricedRung& rung : choice->rungs) {
    if (!rung.priced) continue;
    if (lazy == nullptr) lazy = &rung;
    if (fastest == nullptr || rung.step < fastest->step) fastest = &rung;
  }
  CHECK(lazy != nullptr) << "no rung was priced";
  PricedRung *taken = nullptr, *good = nullptr;
  for (PricedRung& rung : choice->rungs) {
    if (!rung.priced) continue;
    if (taken != nullptr) {
      rung.verdict = "stronger than needed";
    } else if (rung.step > lazy->step) {
      rung.verdict = "slower than " + lazy->name;
    } else if (rung.step > (1 + choice->slower) * fastest->step) {
      rung.verdict = Percent(rung.step / fastest->step - 1) + " slower than " + fastest->name;
    } else if (rung.exposed > choice->limit * choice->compute) {
      rung.verdict = "exposes " + Percent(rung.exposed / choice->compute) + " of compute";
      if (good == nullptr) good = &rung;
    } else {
      taken = &rung;
      rung.verdict = "taken";
    }
  }
  if (taken == nullptr) {
    taken = good;
    taken->verdict =
        "taken: no rung that is nearly as fast hides its exchange; it " + taken->verdict;
  }
  choice->chosen = static_cast<int>(taken - choice->rungs.data());
}

}  // namespace gf
