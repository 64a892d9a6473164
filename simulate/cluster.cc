#include "simulate/cluster.h"

#include <cstdint>
#include <set>

#include "core/config/checked_proto.h"
#include "core/config/text_proto.h"
#include "core/error.h"

namespace gf {
namespace {

constexpr bool kRequired = true;

const FieldRules& ClusterRules() {
  static const FieldRules rules = {
      {"ClusterConfig.ranks", {1, kMostRanks}},
      {"ClusterConfig.node", {0, 0, kRequired}},
      {"ClusterConfig.collective", {0, 0, kRequired}},
      {"ClusterConfig.device", {0, 0, kRequired}},
      {"LinkConfig.gb_s", {1e-4, 1e6, kRequired}},
      {"LinkConfig.background_gb_s", {0, 1e6}},
      {"LinkConfig.latency_us", {0, 1e6}},
      {"NodeConfig.devices", {1, 1024, kRequired}},
      {"NodeConfig.switches", {1, 1024}},
      {"NodeConfig.device_link", {0, 0, kRequired}},
      {"NodeConfig.nics", {1, 1024}},
      {"NodeConfig.nic", {0, 0, kRequired}},
      {"FabricConfig.nodes_per_leaf", {0, kMostRanks}},
      {"ProtocolConfig.up_to_bytes", {1, 1e15}},
      {"ProtocolConfig.hop_us", {0, 1e6, kRequired}},
      {"ProtocolConfig.rate_lost", {0, 0.99}},
      {"CollectiveConfig.protocol", {0, 0, kRequired}},
      {"CollectiveConfig.call_us", {0, 1e6}},
      {"CollectiveConfig.reduce_gb_s", {1e-4, 1e6}},
      {"CollectiveConfig.segment_bytes", {64, 1e12}},
      {"CollectiveConfig.compute_lost", {0, 0.9}},
      {"AcceleratorConfig.memory_gb_s", {1e-3, 1e6, kRequired}},
      {"AcceleratorConfig.tflops", {1e-4, 1e6}},
      {"AcceleratorConfig.jitter", {0, 0.5}},
      {"RateConfig.net", {0, 0, kRequired}},
      {"RateConfig.batch", {1, 1e6, kRequired}},
      {"RateConfig.images_per_s", {1e-3, 1e9, kRequired}},
      {"RunConfig.startup_s", {0, 1e6}},
      {"RunConfig.node_images_per_s", {1e-3, 1e12}},
  };
  return rules;
}

const FieldRules& ProfileRules() {
  static const FieldRules rules = {
      {"ProfileConfig.net", {0, 0, kRequired}},
      {"ProfileConfig.batch", {1, 1e6, kRequired}},
      {"ProfileConfig.step_ms", {1e-6, 1e9, kRequired}},
      {"ProfileConfig.layer", {0, 0, kRequired}},
      {"Layer.name", {0, 0, kRequired}},
      {"Layer.forward_ms", {0, 1e9}},
      {"Layer.backward_ms", {0, 1e9, kRequired}},
  };
  return rules;
}

void CheckLink(const LinkConfig& link, const std::string& name, const char* path) {
  if (link.background_gb_s() < link.gb_s()) return;
  ThrowUserError(name, ": ", path, ".background_gb_s (", link.background_gb_s(),
                 ") must be less than gb_s (", link.gb_s(), ")");
}

void CheckNode(const ClusterConfig& cluster, const std::string& name) {
  const NodeConfig& node = cluster.node();
  CheckLink(node.device_link(), name, "node.device_link");
  CheckLink(node.nic(), name, "node.nic");
  if (node.has_switch_link()) CheckLink(node.switch_link(), name, "node.switch_link");
  if (node.switches() > node.devices()) {
    ThrowUserError(name, ": node.switches (", node.switches(), ") is more than node.devices (",
                   node.devices(), ")");
  }
  if (node.switches() > 1 && !node.has_switch_link()) {
    ThrowUserError(name, ": node.switch_link is missing: node.switches is ", node.switches());
  }
  if (cluster.fabric().nodes_per_leaf() == 0) return;
  if (!cluster.fabric().has_uplink()) {
    ThrowUserError(name, ": fabric.uplink is missing: fabric.nodes_per_leaf is ",
                   cluster.fabric().nodes_per_leaf());
  }
  CheckLink(cluster.fabric().uplink(), name, "fabric.uplink");
}

void CheckProtocols(const CollectiveConfig& collective, const std::string& name) {
  const int count = collective.protocol_size();
  for (int i = 0; i < count; ++i) {
    const ProtocolConfig& protocol = collective.protocol(i);
    const bool last = i + 1 == count;
    if (protocol.has_up_to_bytes() == last) {
      ThrowUserError(name, ": collective.protocol[", i, "].up_to_bytes ",
                     last ? "must be absent in the last protocol, which covers all longer vectors"
                          : "is missing: only the last protocol may omit it");
    }
    if (i == 0 || last || protocol.up_to_bytes() > collective.protocol(i - 1).up_to_bytes()) {
      continue;
    }
    ThrowUserError(name, ": collective.protocol[", i, "].up_to_bytes must ascend, got ",
                   protocol.up_to_bytes(), " after ", collective.protocol(i - 1).up_to_bytes());
  }
}

}  // namespace

ClusterConfig ParseCluster(const std::string& text, const std::string& name) {
  ClusterConfig cluster;
  ParseChecked(text, name, ClusterRules(), &cluster);
  CheckNode(cluster, name);
  CheckProtocols(cluster.collective(), name);
  return cluster;
}

ClusterConfig ReadCluster(const std::string& file) {
  return ParseCluster(ReadTextFile(file), file);
}

ProfileConfig ParseProfile(const std::string& text, const std::string& name) {
  ProfileConfig profile;
  ParseChecked(text, name, ProfileRules(), &profile);
  std::set<std::string> names;
  for (const ProfileConfig::Layer& layer : profile.layer()) {
    if (names.insert(layer.name()).second) continue;
    ThrowUserError(name, ": layer \"", layer.name(), "\" appears twice");
  }
  return profile;
}

ProfileConfig ReadProfile(const std::string& file) {
  return ParseProfile(ReadTextFile(file), file);
}

}  // namespace gf
