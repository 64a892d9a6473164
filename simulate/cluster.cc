#include "simulate/cluster.h"

#include <cstdint>
#include <set>

#include "core/config/checked_proto.h"
#include "core/config/text_proto.h"
#include "core/error.h"

namespace gf {
namespace {

const FieldRules& ClusterRules() {
  static const FieldRules rules = {
      {"ClusterConfig.ranks", Between(1, kMostRanks)},
      {"ClusterConfig.node", Required()},
      {"ClusterConfig.collective", Required()},
      {"ClusterConfig.device", Required()},
      {"LinkConfig.gb_s", Between(1e-4, 1e6).Required()},
      {"LinkConfig.background_gb_s", Between(0, 1e6)},
      {"LinkConfig.latency_us", Between(0, 1e6)},
      {"NodeConfig.devices", Between(1, 1024).Required()},
      {"NodeConfig.switches", Between(1, 1024)},
      {"NodeConfig.device_link", Required()},
      {"NodeConfig.nics", Between(1, 1024)},
      {"NodeConfig.nic", Required()},
      {"FabricConfig.nodes_per_leaf", Between(0, kMostRanks)},
      {"ProtocolConfig.up_to_bytes", Between(1, 1e15)},
      {"ProtocolConfig.hop_us", Between(0, 1e6).Required()},
      {"ProtocolConfig.rate_lost", Between(0, 0.99)},
      {"CollectiveConfig.protocol", Required()},
      {"CollectiveConfig.call_us", Between(0, 1e6)},
      {"CollectiveConfig.reduce_gb_s", Between(1e-4, 1e6)},
      {"CollectiveConfig.segment_bytes", Between(64, 1e12)},
      {"CollectiveConfig.compute_lost", Between(0, 0.9)},
      {"AcceleratorConfig.memory_gb_s", Between(1e-3, 1e6).Required()},
      {"AcceleratorConfig.compressor_gb_s", Between(1e-3, 1e6)},
      {"AcceleratorConfig.tflops", Between(1e-4, 1e6)},
      {"AcceleratorConfig.jitter", Between(0, 0.5)},
      {"RateConfig.net", Required()},
      {"RateConfig.batch", Between(1, 1e6).Required()},
      {"RateConfig.images_per_s", Between(1e-3, 1e9).Required()},
      {"RunConfig.startup_s", Between(0, 1e6)},
      {"RunConfig.node_images_per_s", Between(1e-3, 1e12)},
      {"RunConfig.node_price_per_hour", Between(0, kHighestPrice)},
  };
  return rules;
}

const FieldRules& ProfileRules() {
  static const FieldRules rules = {
      {"ProfileConfig.net", Required()},
      {"ProfileConfig.batch", Between(1, 1e6).Required()},
      {"ProfileConfig.step_ms", Between(1e-6, 1e9).Required()},
      {"ProfileConfig.layer", Required()},
      {"Layer.name", Required()},
      {"Layer.forward_ms", Between(0, 1e9)},
      {"Layer.backward_ms", Between(0, 1e9).Required()},
  };
  return rules;
}

void CheckLink(const LinkConfig& link, const MistakeReport& report) {
  report.Require(link.background_gb_s() < link.gb_s(), "background_gb_s", " is ",
                 link.background_gb_s(), ", must be less than gb_s (", link.gb_s(), ")");
}

void CheckNode(const NodeConfig& node, const MistakeReport& report) {
  CheckLink(node.device_link(), report.Inner("device_link"));
  CheckLink(node.nic(), report.Inner("nic"));
  if (node.has_switch_link()) CheckLink(node.switch_link(), report.Inner("switch_link"));
  report.Require(node.switches() <= node.devices(), "switches", " is ", node.switches(),
                 ", must be at most devices (", node.devices(), ")");
  report.RequireField(node.switches() == 1 || node.has_switch_link(), "switch_link",
                      StrCat("switches is ", node.switches(), ", so they need a link"));
}

void CheckFabric(const FabricConfig& fabric, const MistakeReport& report) {
  if (fabric.nodes_per_leaf() == 0) return;
  report.RequireField(fabric.has_uplink(), "uplink",
                      StrCat("nodes_per_leaf is ", fabric.nodes_per_leaf(),
                             ", so leaves need a link to each other"));
  CheckLink(fabric.uplink(), report.Inner("uplink"));
}

void CheckProtocols(const CollectiveConfig& collective, const MistakeReport& report) {
  const int count = collective.protocol_size();
  for (int i = 0; i < count; ++i) {
    const ProtocolConfig& protocol = collective.protocol(i);
    const std::string field = StrCat("protocol[", i, "].up_to_bytes");
    if (i + 1 == count) {
      report.Require(!protocol.has_up_to_bytes(), field,
                     " must be absent in the last protocol, which covers all longer vectors");
      return;
    }
    report.RequireField(protocol.has_up_to_bytes(), field, "only the last protocol may omit it");
    if (i == 0) continue;
    const int64_t before = collective.protocol(i - 1).up_to_bytes();
    report.Require(protocol.up_to_bytes() > before, field, " is ", protocol.up_to_bytes(),
                   ", must be greater than in the previous protocol (", before, ")");
  }
}

}  // namespace

ClusterConfig ParseCluster(const std::string& text, const std::string& name, Places* places) {
  ClusterConfig cluster;
  const Places own = ParseChecked(text, name, ClusterRules(), &cluster);
  const MistakeReport report(own, "");
  CheckNode(cluster.node(), report.Inner("node"));
  CheckFabric(cluster.fabric(), report.Inner("fabric"));
  CheckProtocols(cluster.collective(), report.Inner("collective"));
  if (places != nullptr) *places = own;
  return cluster;
}

ClusterConfig ReadCluster(const std::string& file, Places* places) {
  return ParseCluster(ReadTextFile(file), file, places);
}

ProfileConfig ParseProfile(const std::string& text, const std::string& name) {
  ProfileConfig profile;
  const Places places = ParseChecked(text, name, ProfileRules(), &profile);
  const MistakeReport report(places, "");
  std::set<std::string> names;
  for (int i = 0; i < profile.layer_size(); ++i) {
    const std::string& layer = profile.layer(i).name();
    report.Require(names.insert(layer).second, StrCat("layer[", i, "].name"), " is \"", layer,
                   "\", but an earlier layer has the same name");
  }
  return profile;
}

ProfileConfig ReadProfile(const std::string& file) {
  return ParseProfile(ReadTextFile(file), file);
}

}  // namespace gf
