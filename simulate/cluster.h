#pragma once

#include <string>

#include "simulate/cluster.pb.h"

namespace gf {

// Maximum number of simulated ranks.
constexpr int kMostRanks = 1 << 16;

// Reads and checks a cluster description. Throws UserError "file:line:col: field: what".
ClusterConfig ReadCluster(const std::string& file);
// The same for a text; messages use `name` in place of the file.
ClusterConfig ParseCluster(const std::string& text, const std::string& name);

// Reads and checks a profile, the times of a network's layers.
ProfileConfig ReadProfile(const std::string& file);
ProfileConfig ParseProfile(const std::string& text, const std::string& name);

}  // namespace gf
