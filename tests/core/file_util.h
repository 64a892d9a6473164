#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>

#include "core/error.h"

namespace gf {

// Gives every test an empty folder.
class FolderOfTest : public testing::Test {
 protected:
  FolderOfTest()
      : path_(testing::TempDir() + "/" +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~FolderOfTest() override { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }

 private:
  const std::string path_;
};

// The message of the UserError that `body` throws; fails the test if it throws none.
inline std::string ErrorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const UserError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no UserError was thrown";
  return "";
}

}  // namespace gf
