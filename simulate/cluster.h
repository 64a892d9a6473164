#pragma once

#include <string>

#include "core/config/places.h"
#include "simulate/cluster.pb.h"

namespace gf {

// Maximum number of simulated ranks.
constexpr int kMostRanks = 1 << 16;
// Maximum price of a node for an hour.
constexpr double kHighestPrice = 1e9;

// Reads and checks a cluster description. Throws UserError "file:line:col: field: what". `places`,
// if not null: where the fields stand.
ClusterConfig ReadCluster(const std::string& file, Places* places = nullptr);
// The same for a text; messages use `name` in place of the file.
ClusterConfig ParseCluster(const std::string& text, const std::string& name,
                           Places* places = nullptr);

// Reads and checks a profile, the times of a network's layers.
ProfileConfig ReadProfile(const std::string& file);
ProfileConfig ParseProfile(const std::string& text, const std::string& name);

}  // namespace gf
