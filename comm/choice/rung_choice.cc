#include "comm/choice/rung_choice.h"

#include <glog/logging.h>

#include <cstdio>
#include <string>

namespace gf {
namespace {

constexpr double kSlower = 0.05;

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
  const PricedRung* taken = nullptr;
  for (PricedRung& rung : choice->rungs) {
    if (!rung.priced) continue;
    if (taken != nullptr) {
      rung.verdict = "stronger than needed";
    } else if (rung.exposed > choice->limit * choice->compute) {
      rung.verdict = "exposes " + Percent(rung.exposed / choice->compute) + " of compute";
    } else if (rung.step > lazy->step) {
      rung.verdict = "slower than " + lazy->name;
    } else if (rung.arithmetic > 0 && rung.step > (1 + kSlower) * fastest->step) {
      rung.verdict = Percent(rung.step / fastest->step - 1) + " slower than " + fastest->name;
    } else {
      taken = &rung;
      rung.verdict = "taken";
    }
  }
  if (taken == nullptr) taken = fastest;
  choice->chosen = static_cast<int>(taken - choice->rungs.data());
  if (taken == fastest && taken->verdict != "taken") {
    choice->rungs[choice->chosen].verdict = "taken: the fastest; it " + taken->verdict;
  }
}

}  // namespace gf
