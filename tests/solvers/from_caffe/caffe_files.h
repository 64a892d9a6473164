#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "core/error.h"

namespace gf {

// A file in the test's folder. Returns its path.
inline std::string WriteText(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

// The message of the UserError that `action` throws.
template <typename Action>
std::string ErrorOf(const Action& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace gf
