#pragma once

#include <string>
#include <vector>

namespace gf {

// What a net took from a file of weights, by the names of tensors in the net.
struct WeightsReport {
  std::vector<std::string> loaded;
  std::vector<std::string> skipped;  // left out on demand
  std::vector<std::string> missing;  // not in the file
  std::vector<std::string> unused;   // of the file: names that the net does not have
};

}  // namespace gf
