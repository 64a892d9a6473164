#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/error.h"

namespace gf {

// Names of the devices to test: "cpu", and "cuda" where there is a GPU; says so if there is none.
// GF_TEST_ONLY=cuda: that device alone.
inline std::vector<std::string> TestDevices() {
  static const std::vector<std::string> devices = [] {
    if (const char* const only = std::getenv("GF_TEST_ONLY")) return std::vector<std::string>{only};
    std::vector<std::string> found = {"cpu"};
    try {
      DeviceRegistry::Get().Create("device", "cuda", 0);
      found.push_back("cuda");
    } catch (const UserError& e) {
      std::fprintf(stderr, "NOT TESTED on a GPU: %s\n", e.what());
    }
    return found;
  }();
  return devices;
}

inline bool HasTestGpu() {
  const std::vector<std::string> devices = TestDevices();
  return std::find(devices.begin(), devices.end(), "cuda") != devices.end();
}

}  // namespace gf
