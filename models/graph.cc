#include "models/graph.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/config/nearest.h"
#include "core/error.h"
#include "models/variants.h"

namespace gf {
namespace {

// Whether a rule matches the state in which nets are built: this phase, level 0, no stages.
bool Matches(const NetStateRule& rule, Phase phase) {
  if (rule.has_phase() && rule.phase() != phase) return false;
  if (rule.has_min_level() && rule.min_level() > 0) return false;
  if (rule.has_max_level() && rule.max_level() < 0) return false;
  return rule.stage_size() == 0;
}

bool Included(const GraphNode& node, Phase phase) {
  const LayerParameter& p = node.param;
  if (p.include_size() > 0 && p.exclude_size() > 0) {
    ThrowUserError(node.location, ": layer \"", p.name(),
                   "\" has both include and exclude; use one of them");
  }
  const auto matches = [&](const NetStateRule& rule) { return Matches(rule, phase); };
  if (p.include_size() > 0) {
    return std::any_of(p.include().begin(), p.include().end(), matches);
  }
  return std::none_of(p.exclude().begin(), p.exclude().end(), matches);
}

// The inputs of a deploy net (`input: "data" input_shape { }`) as Input layers.
std::vector<GraphNode> NetInputs(const NetSource& source) {
  const NetParameter& net = source.param;
  if (net.input_shape_size() > 0 && net.input_dim_size() > 0) {
    ThrowUserError(source.file, ": give input_shape or input_dim, not both");
  }
  if (net.input_shape_size() != net.input_size() && net.input_dim_size() != 4 * net.input_size()) {
    ThrowUserError(source.file, ": ", net.input_size(), " inputs need one input_shape each (got ",
                   net.input_shape_size(), ") or four input_dim each (got ", net.input_dim_size(),
                   ")");
  }
  std::vector<GraphNode> nodes;
  for (int i = 0; i < net.input_size(); ++i) {
    GraphNode node;
    node.location = source.file;
    node.param.set_name(net.input(i));
    node.param.set_type("Input");
    node.param.add_top(net.input(i));
    BlobShape* shape = node.param.mutable_input_param()->add_shape();
    if (net.input_shape_size() > 0) {
      *shape = net.input_shape(i);
    } else {
      for (int d = 0; d < 4; ++d) shape->add_dim(net.input_dim(4 * i + d));
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

// Explains why none of the pending layers can run.
[[noreturn]] void FailStuck(const std::vector<GraphNode>& pending,
                            const std::set<std::string>& known, Phase phase) {
  std::map<std::string, const GraphNode*> producer;
  for (const GraphNode& node : pending) {
    const auto& bottoms = node.param.bottom();
    for (const std::string& top : node.param.top()) {
      // An in-place layer needs another layer to produce the blob.
      if (std::find(bottoms.begin(), bottoms.end(), top) == bottoms.end()) {
        producer.emplace(top, &node);
      }
    }
  }
  for (const GraphNode& node : pending) {
    for (const std::string& bottom : node.param.bottom()) {
      if (known.count(bottom) || producer.count(bottom)) continue;
      std::vector<std::string> names(known.begin(), known.end());
      for (const auto& entry : producer) names.push_back(entry.first);
      const std::string nearest = Nearest(bottom, names);
      ThrowUserError(node.location, ": layer \"", node.param.name(), "\" (", node.param.type(),
                     "): no layer of phase ", Phase_Name(phase), " produces its bottom \"", bottom,
                     "\"", nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?");
    }
  }
  // A pending layer produces every missing blob: walk back until a layer repeats.
  std::vector<const GraphNode*> path;
  const GraphNode* node = &pending.front();
  while (std::find(path.begin(), path.end(), node) == path.end()) {
    path.push_back(node);
    for (const std::string& bottom : node->param.bottom()) {
      if (known.count(bottom)) continue;
      node = producer.at(bottom);
      break;
    }
  }
  std::string cycle = "\"" + node->param.name() + "\"";
  for (size_t i = path.size(); i-- > 0;) {
    cycle += " -> \"" + path[i]->param.name() + "\"";
    if (path[i] == node) break;
  }
  ThrowUserError(node->location, ": layers depend on each other in a cycle: ", cycle);
}

std::vector<GraphNode> Remaining(const std::vector<GraphNode>& nodes,
                                 const std::vector<bool>& done) {
  std::vector<GraphNode> remaining;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!done[i]) remaining.push_back(nodes[i]);
  }
  return remaining;
}

}  // namespace

std::string PlainBlobName(const std::string& blob) { return blob.substr(0, blob.find('#')); }

std::vector<GraphNode> ResolveGraph(const NetSource& source, Phase phase) {
  // Compiling takes seconds then; nobody trains deeper nets.
  constexpr int kMostLayers = 20000;
  if (source.param.layer_size() > kMostLayers) {
    ThrowUserError(source.file, ": has ", source.param.layer_size(), " layers, expected at most ",
                   kMostLayers);
  }
  std::vector<GraphNode> pending;
  for (GraphNode& node : NetInputs(source)) pending.push_back(std::move(node));
  std::set<std::string> names;
  std::map<std::string, int> repetitions;  // of a name in the file
  for (int i = 0; i < source.param.layer_size(); ++i) {
    GraphNode node;
    node.param = source.param.layer(i);
    node.location = source.layer_locations[i];
    if (!node.param.has_type() || node.param.type().empty()) {
      ThrowUserError(node.location, ": layer \"", node.param.name(), "\" has no type");
    }
    if (!Included(node, phase)) continue;
    ReplaceVariant(&node);
    if (node.param.name().empty()) node.param.set_name(StrCat("layer", i));
    const std::string name = node.param.name();
    while (!names.insert(node.param.name()).second) {
      node.param.set_name(StrCat(name, "#", ++repetitions[name] + 1));
      node.renamed = true;
    }
    pending.push_back(std::move(node));
  }
  if (pending.empty()) {
    ThrowUserError(source.file, ": the net has no layers in phase ", Phase_Name(phase));
  }

  std::map<std::string, int> versions;         // blob name in the file -> times written
  std::map<std::string, std::string> current;  // -> name of the newest version
  std::set<std::string> known;
  std::vector<GraphNode> nodes;
  // By number in file order: the bottoms that do not exist yet, and the layers without such.
  std::vector<size_t> missing(pending.size());
  std::set<size_t> ready;
  std::map<std::string, std::vector<size_t>> waiting;  // blob -> layers
  for (size_t i = 0; i < pending.size(); ++i) {
    const auto& all = pending[i].param.bottom();
    for (const std::string& bottom : std::set<std::string>(all.begin(), all.end())) {
      waiting[bottom].push_back(i);
      ++missing[i];
    }
    if (missing[i] == 0) ready.insert(i);
  }
  std::vector<bool> done(pending.size());
  while (nodes.size() < pending.size()) {
    if (ready.empty()) FailStuck(Remaining(pending, done), known, phase);
    // The first layer, in file order, whose bottoms exist.
    const size_t first = *ready.begin();
    ready.erase(ready.begin());
    done[first] = true;
    GraphNode node = std::move(pending[first]);
    LayerParameter& p = node.param;
    const std::set<std::string> bottoms(p.bottom().begin(), p.bottom().end());
    for (std::string& bottom : *p.mutable_bottom()) bottom = current.at(bottom);
    for (std::string& top : *p.mutable_top()) {
      const std::string name = top;
      if (top.find('#') != std::string::npos) {
        ThrowUserError(node.location, ": blob name \"", top, "\" must not contain '#'");
      }
      if (known.count(name) && !bottoms.count(name)) {
        ThrowUserError(node.location, ": layer \"", p.name(), "\": blob \"", name,
                       "\" is already produced by another layer");
      }
      const int version = ++versions[name];
      if (version > 1) top = StrCat(name, "#", version);
      current[name] = top;
      if (!known.insert(name).second) continue;
      for (const size_t reader : waiting[name]) {
        if (--missing[reader] == 0) ready.insert(reader);
      }
    }
    node.index = static_cast<int>(nodes.size());
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::string LayerWords(const GraphNode& node) {
  return StrCat("layer \"", node.param.name(), "\" (", node.param.type(), ")");
}

}  // namespace gf
