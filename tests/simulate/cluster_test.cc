#include "simulate/cluster.h"

#include <gtest/gtest.h>

#include <string>

#include "core/error.h"

namespace gf {
namespace {

constexpr char kGood[] = R"(name: "x"
node { devices: 8 device_link { gb_s: 10 } nic { gb_s: 5 } }
collective { protocol { hop_us: 3 } }
device { memory_gb_s: 500 }
)";

std::string With(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string ErrorOf(const std::string& text) {
  try {
    ParseCluster(text, "c");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(ClusterTest, ReadsValidDescriptions) {
  EXPECT_EQ(ErrorOf(kGood), "");
  EXPECT_EQ(ParseCluster(kGood, "c").node().devices(), 8);
}

TEST(ClusterTest, MistakesNameLineColumnFieldAndRange) {
  EXPECT_EQ(ErrorOf(With("gb_s: 5", "gb_s: -5")),
            "c:2:50: node.nic.gb_s is -5, must be at least 0.0001");
  EXPECT_EQ(ErrorOf(With("devices: 8", "devices: 0")),
            "c:2:8: node.devices is 0, must be at least 1");
  EXPECT_EQ(ErrorOf(With("hop_us: 3", "hop_us: 1e300")),
            "c:3:25: collective.protocol[0].hop_us is 1e+300, must be at most 1000000");
}

TEST(ClusterTest, NumbersThatAreNotFiniteAreMistakes) {
  for (const char* number : {"nan", "inf", "-inf"}) {
    EXPECT_NE(ErrorOf(With("gb_s: 10", std::string("gb_s: ") + number)).find("device_link.gb_s"),
              std::string::npos)
        << number;
  }
}

TEST(ClusterTest, PlacesAreThoseOfTheText) {
  Places places;
  const std::string rate = "rate { net: \"n\" batch: 1 images_per_s: 1 }";
  ParseCluster(With("memory_gb_s: 500", "memory_gb_s: 500\n" + rate), "c", &places);
  EXPECT_EQ(places.Before("device.rate[0]"), "c:5:1: ");
}

TEST(ClusterTest, PricesAreBounded) {
  const std::string price = "run { node_price_per_hour: ";
  EXPECT_EQ(ErrorOf(kGood + price + "24.5 }"), "");
  EXPECT_EQ(ErrorOf(kGood + price + "-1 }"),
            "c:5:7: run.node_price_per_hour is -1, must be at least 0");
}

TEST(ClusterTest, MissingFieldsAreNamedWithTheirMessage) {
  EXPECT_EQ(ErrorOf(With("nic { gb_s: 5 }", "")), "c:2:1: node.nic is missing");
  EXPECT_EQ(ErrorOf(With("gb_s: 5", "")), "c:2:44: node.nic.gb_s is missing");
  EXPECT_EQ(ErrorOf(With("device { memory_gb_s: 500 }", "")), "c: device is missing");
}

TEST(ClusterTest, MisspelledFieldsAreMistakes) {
  const std::string error = ErrorOf(With("devices: 8", "device: 8"));
  EXPECT_NE(error.find("c:2:8"), std::string::npos) << error;
  EXPECT_NE(error.find("devices"), std::string::npos) << error;
}

TEST(ClusterTest, PartsMustFitTogether) {
  EXPECT_EQ(ErrorOf(With("gb_s: 5", "gb_s: 5 background_gb_s: 5")),
            "c:2:58: node.nic.background_gb_s is 5, must be less than gb_s (5)");
  EXPECT_EQ(ErrorOf(With("devices: 8", "devices: 8 switches: 2")),
            "c:2:1: node.switch_link is missing: switches is 2, so they need a link");
  EXPECT_EQ(ErrorOf(With("devices: 8", "devices: 8 switches: 9")),
            "c:2:19: node.switches is 9, must be at most devices (8)");
  EXPECT_EQ(
      ErrorOf(std::string(kGood) + "fabric { nodes_per_leaf: 4 }"),
      "c:5:1: fabric.uplink is missing: nodes_per_leaf is 4, so leaves need a link to each other");
}

TEST(ClusterTest, ProtocolsAscendAndTheLastTakesTheRest) {
  const auto protocols = [](const std::string& text) {
    return ErrorOf(With("protocol { hop_us: 3 }", text));
  };
  EXPECT_EQ(
      protocols("protocol { hop_us: 1 } protocol { hop_us: 3 }"),
      "c:3:14: collective.protocol[0].up_to_bytes is missing: only the last protocol may omit "
      "it");
  EXPECT_EQ(protocols("protocol { up_to_bytes: 9 hop_us: 1 }"),
            "c:3:25: collective.protocol[0].up_to_bytes must be absent in the last protocol, which "
            "covers all longer vectors");
  EXPECT_EQ(protocols("protocol { up_to_bytes: 9 hop_us: 1 } protocol { up_to_bytes: 9 hop_us: 1 } "
                      "protocol { hop_us: 3 }"),
            "c:3:63: collective.protocol[1].up_to_bytes is 9, must be greater than in the previous "
            "protocol (9)");
}

// Whatever the file holds: an error or a cluster.
TEST(ClusterTest, DamagedFilesAreErrorsNotCrashes) {
  const std::string good = kGood;
  for (size_t cut = 0; cut < good.size(); ++cut) {
    ErrorOf(good.substr(0, cut));
    for (const char* junk : {"{", "}", "9999999999999999999", "\"", ":", "-"}) {
      ErrorOf(good.substr(0, cut) + junk + good.substr(cut));
    }
  }
}

TEST(ProfileTest, MistakesAreErrors) {
  const auto error = [](const std::string& text) -> std::string {
    try {
      ParseProfile(text, "p");
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  };
  const std::string head = "net: \"n\" batch: 8 step_ms: 3\n";
  EXPECT_EQ(error(head + "layer { name: \"a\" backward_ms: 1 }"), "");
  EXPECT_EQ(error(head), "p: layer is missing");
  EXPECT_EQ(error(head + "layer { name: \"a\" backward_ms: -1 }"),
            "p:2:19: layer[0].backward_ms is -1, must be at least 0");
  EXPECT_EQ(
      error(head + "layer { name: \"a\" backward_ms: 1 } layer { name: \"a\" backward_ms: 1 }"),
      "p:2:44: layer[1].name is \"a\", but an earlier layer has the same name");
}

}  // namespace
}  // namespace gf
