#pragma once

#include <string>

#include "simulate/cluster.pb.h"

namespace gf {

// Most ranks that are simulated.
constexpr int kMostRanks = 1 << 16;

// Reads and checks a cluster description. Throws UserError "file:line:col: field: what".
ClusterConfig ReadCluster(const std::string& file);
// The same for a text; `name` stands for the file in messages.
ClusterConfig ParseCluster(const std::string& text, const std::string& name);

// Times of a network's layers, checked in the same way.
ProfileConfig ReadProfile(const std::string& file);
ProfileConfig ParseProfile(const std::string& text, const std::string& name);

}  // namespace gf
