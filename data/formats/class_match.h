#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/formats/record_source.h"

namespace gf {

// Matches the classes of a source by name with those that a net knows, `names` by number: its
// labels become numbers of `names`. A number before a name, as in "07_ring", does not matter.
// Without names on one side numbers are compared as they are, and the source is returned unchanged.
// Throws UserError that lists the classes with images that `names` lacks, or has twice. Values
// (LabelConfig) must have the same names in the same order.
std::unique_ptr<RecordSource> MatchClasses(std::unique_ptr<RecordSource> source,
                                           const std::vector<std::string>& names);

}  // namespace gf
