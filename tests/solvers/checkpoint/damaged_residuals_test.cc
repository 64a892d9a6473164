// Files of residuals that no job has written are refused.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/solvers/checkpoint/residuals_for_test.h"

namespace gf {
namespace {

TEST_F(ResidualsTest, DamagedTruncatedAndMissingFilesAreNoticed) {
  for (const std::string& name : {ResidualFile(0), ResidualFile(2), std::string(kChunksFile)}) {
    const auto error = [] {
      try {
        VerifyCheckpoint(Folder());
      } catch (const UserError& e) {
        return std::string(e.what());
      }
      return std::string();
    };
    Save(3);
    const std::string file = Folder() + "/" + name;
    std::FILE* const stream = std::fopen(file.c_str(), "r+");
    std::fseek(stream, -3, SEEK_END);
    std::fputc(0x55, stream);
    std::fclose(stream);
    EXPECT_NE(error().find(name + ": its checksum"), std::string::npos) << error();
    fs::resize_file(file, fs::file_size(file) - 5);
    EXPECT_NE(error().find(name + ": has "), std::string::npos) << error();
    fs::remove(file);
    EXPECT_NE(error().find(name), std::string::npos) << error();
  }
}

TEST_F(ResidualsTest, ThoseOfAnotherNetAreRefusedOnAllRanks) {
  Save(2);
  for (int world : {1, 2}) {
    const std::string error = LoadError(2, world, 11);
    EXPECT_NE(error.find("residual/fc.bias (file 10, net 11)"), std::string::npos) << error;
  }
}

// Under right names and shapes.
TEST_F(ResidualsTest, ValuesThatAreNotFiniteAreRefusedOnAllRanks) {
  for (const float bad : {NAN, -INFINITY}) {
    for (int rank : {0, 1}) {
      Save(2);
      Rewrite(rank, [&](const std::string& name, std::vector<float>* values) {
        if (name == "residual/fc.weight") (*values)[5] = bad;
        return name;
      });
      for (int world : {1, 2}) {
        const std::string error = LoadError(2, world);
        EXPECT_NE(error.find(ResidualFile(rank) + ": residual/fc.weight[5] is "), std::string::npos)
            << error;
        EXPECT_NE(error.find("resume from another checkpoint"), std::string::npos) << error;
      }
    }
  }
}

TEST_F(ResidualsTest, FilesWithoutResidualsAreRefusedOnAllRanks) {
  for (int rank : {0, 1}) {
    Save(2);
    Rewrite(rank, [](const std::string& name, std::vector<float>*) {
      return "velocity" + name.substr(name.find('/'));
    });
    for (int world : {1, 2, 3}) {
      const std::string error = LoadError(2, world);
      EXPECT_NE(
          error.find(ResidualFile(rank) + ": it holds velocity, expected tensors \"residual/...\""),
          std::string::npos)
          << error;
    }
    Rewrite(rank, [](const std::string&, std::vector<float>*) { return ""; });
    EXPECT_NE(LoadError(2, 2).find(ResidualFile(rank) + ": it holds no pool, expected tensors"),
              std::string::npos)
        << LoadError(2, 2);
  }
}

TEST_F(ResidualsTest, RanksWithOtherPoolsThanRankZeroAreRefused) {
  const auto drop_velocity = [](const std::string& name, std::vector<float>*) {
    return name.rfind("velocity/", 0) == 0 ? "" : name;
  };
  for (int rank : {0, 1}) {
    RunLocal(2, 60, [](Communicator* comm) {
      Rank saved(comm, "TOPK");
      saved.Fill();
      saved.Save();
    });
    Rewrite(rank, drop_velocity);
    const std::string both = "residual and velocity";
    for (int world : {1, 2}) {
      const std::string error = LoadError(2, world);
      EXPECT_NE(
          error.find(ResidualFile(1) + ": it holds " + (rank == 0 ? both : "residual") +
                     ", expected " + (rank == 0 ? "residual" : both) + " as in " + ResidualFile(0)),
          std::string::npos)
          << error;
    }
  }
}

TEST_F(ResidualsTest, SharedStateThatCannotBeIsRefusedOnAllRanks) {
  const auto damage = [](float bad) {
    std::map<std::string, std::string> metadata;
    std::vector<SafetensorsEntry> entries;
    std::vector<std::vector<char>> bytes;
    const std::string path = Folder() + "/" + kChunksFile;
    {
      const SafetensorsReader file(path);
      metadata = file.metadata();
      for (const SafetensorsEntry& entry : file.entries()) {
        entries.push_back({entry.name, entry.dtype, entry.shape});
        bytes.push_back(file.ReadBytes(entry));
        if (entry.name != "shared") continue;
        std::memcpy(bytes.back().data() + sizeof(float), &bad, sizeof(float));
      }
    }
    SafetensorsWriter file(path, entries, metadata);
    for (const auto& each : bytes) file.Write(each.data(), each.size());
    file.Finish();
  };
  for (const char* const mode : {"SPARSE", "LOW_RANK"}) {
    for (const float bad : {NAN, INFINITY, 0.f, 1.5f, 1e9f}) {
      RunLocal(2, 60, [&](Communicator* comm) {
        Rank rank(comm, mode, kChunkSize, 700);
        rank.Fill();
        rank.Save();
        comm->Barrier("saved");
        if (comm->rank() == 0) damage(bad);
        std::string error;
        try {
          Rank(comm, mode, kChunkSize, 700).Load(2);
        } catch (const UserError& e) {
          error = e.what();
        }
        // A factor may be any number; a chunk waits for whole steps.
        const bool refused = !std::isfinite(bad) || mode == std::string("SPARSE");
        EXPECT_EQ(error.find("shared[1] is ") != std::string::npos, refused) << mode << error;
      });
    }
  }
}

TEST_F(ResidualsTest, ChunksThatCannotBeAreRefused) {
  Save(1);
  std::map<std::string, std::string> metadata;
  {
    const SafetensorsReader file(Folder() + "/" + kChunksFile);
    metadata = file.metadata();
  }
  const auto write = [&](const std::string& dtype, const std::vector<int64_t>& chunks) {
    const int64_t count = static_cast<int64_t>(chunks.size());
    SafetensorsWriter file(Folder() + "/" + kChunksFile,
                           {{"important_chunks", dtype, Shape({count})}}, metadata);
    file.Write(chunks.data(), count * 8);
    file.Finish();
  };
  write("I64", {0, 5});
  EXPECT_EQ(LoadError(1, 1), "");
  for (const std::vector<int64_t>& chunks :
       std::vector<std::vector<int64_t>>{{-1}, {3, 3}, {4, 2}, {int64_t{1} << 40}, {INT64_MAX}}) {
    write("I64", chunks);
    EXPECT_NE(LoadError(1, 1).find("is out of place"), std::string::npos) << LoadError(1, 1);
  }
  write("F64", {0});
  EXPECT_NE(LoadError(1, 1).find("important_chunks"), std::string::npos);
  for (const char* number : {"", "x", "-5", "99999999999999999999"}) {
    metadata["pool"] = number;
    write("I64", {0});
    EXPECT_NE(LoadError(1, 1).find("\"pool\""), std::string::npos) << number;
  }
}

}  // namespace
}  // namespace gf
