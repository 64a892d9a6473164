#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/config/job.pb.h"

namespace gf {

// A way to exchange gradients, by the name that it has in gfbench arena.
struct Method {
  std::string name;
  std::optional<CommConfig> config;  // absent: nothing is exchanged
};

// The methods of --methods, checked: entries separated by ";", each the name of a known method or
// "NAME = MESSAGE", a comm { } message. Known are the rungs of mode AUTO and some more. An empty
// text is the usual methods that gradients of this type allow. The first method is the one that
// exchanges nothing. Throws UserError.
std::vector<Method> ParseMethods(const std::string& text, ComputeType gradients);

// The known methods for --help, a line each.
std::string KnownMethods();

}  // namespace gf
