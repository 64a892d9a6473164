#include "solvers/updated_parameters.h"

#include <glog/logging.h>

#include <algorithm>
#include <limits>

#include "solvers/parameter_rules.h"

namespace gf {

UpdatedParameters::UpdatedParameters(const SolverConfig& config, const ParameterStore& store,
                                     const std::function<int64_t(double epochs)>& steps_of) {
  int entries = 0;
  for (const ParameterRule& rule : RulesOf(config, store)) {
    const int64_t end = store.layout().PrefixEnd(++entries);
    CHECK(steps_of || !rule.until_epoch) << "the steps of an epoch are unknown";
    const int64_t steps =
        rule.until_epoch ? steps_of(*rule.until_epoch) : std::numeric_limits<int64_t>::max();
    entry_steps_.push_back(steps);
    if (!parts_.empty() && parts_.back().steps == steps) {
      parts_.back().end = end;
    } else {
      parts_.push_back({end, steps});
    }
  }
}

std::vector<int> UpdatedParameters::EndedEntries(int64_t step) const {
  std::vector<int> ended;
  for (size_t entry = 0; entry < entry_steps_.size(); ++entry) {
    if (step >= entry_steps_[entry]) ended.push_back(static_cast<int>(entry));
  }
  return ended;
}

std::vector<ElementRange> UpdatedParameters::Select(int64_t step,
                                                    const std::vector<ElementRange>& ranges,
                                                    bool updated) const {
  std::vector<ElementRange> selected;
  for (const ElementRange& range : ranges) {
    auto part = std::partition_point(parts_.begin(), parts_.end(),
                                     [&](const Part& each) { return each.end <= range.begin; });
    bool goes_on = false;  // the last selected range ends where this piece begins
    for (int64_t begin = range.begin; begin < range.end && part != parts_.end(); ++part) {
      const int64_t end = std::min(part->end, range.end);
      const bool wanted = (step < part->steps) == updated;
      if (wanted && goes_on) {
        selected.back().end = end;
      } else if (wanted) {
        selected.push_back({begin, end});
      }
      goes_on = wanted;
      begin = end;
    }
  }
  return selected;
}

}  // namespace gf
