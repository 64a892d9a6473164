#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/error.h"

namespace gf {

inline constexpr char kJob[] = R"(
  net: "nets/lenet.prototxt"
  train_data { source: "data/train-*.tar" channels: 3 mean: [1, 2, 3] std: 4 }
  validation_data { source: "/abs/val" }
  solver { base_lr: 0.1 max_epochs: 2.5 }
  checkpoint { dir: "checkpoints" }
)";

class ConfigTest : public testing::Test {
 protected:
  void SetUp() override {
    file_ = testing::TempDir() + "/job.prototxt";
    std::ofstream(file_) << kJob;
  }

  JobConfig Read(const std::vector<std::string>& overrides = {}) {
    return ReadJobConfig(file_, overrides);
  }

  std::string Error(const std::vector<std::string>& overrides) {
    try {
      Read(overrides);
    } catch (const UserError& e) {
      return e.what();
    }
    return "no error";
  }

  // The error of a file with this text; "FILE" stands for its name.
  std::string ErrorOfFile(const std::string& text, const std::vector<std::string>& overrides = {}) {
    std::ofstream(file_) << text;
    std::string error = Error(overrides);
    const size_t at = error.find(file_);
    return at == error.npos ? error : error.replace(at, file_.size(), "FILE");
  }

  std::string file_;
};

}  // namespace gf
