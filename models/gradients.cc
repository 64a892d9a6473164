// Which parts of a net need a backward pass.

#include <algorithm>
#include <set>

#include "models/compiled_net.h"

namespace gf {

namespace {

// Whether training changes a parameter other than the entries `ended`, which are sorted.
bool TrainsOthers(const CompiledOp& op, const std::vector<int>& ended) {
  return std::any_of(op.parameters.begin(), op.parameters.end(),
                     [&](const CompiledParameter& parameter) {
                       return !parameter.frozen &&
                              !std::binary_search(ended.begin(), ended.end(), parameter.entry);
                     });
}

}  // namespace

bool Trains(const CompiledOp& op) { return TrainsOthers(op, {}); }

bool Propagates(const CompiledNet& net, const CompiledOp& op, size_t bottom) {
  const LayerParameter& p = op.layer->param();
  if (static_cast<int>(bottom) < p.propagate_down_size() && !p.propagate_down(bottom)) {
    return false;
  }
  return net.blobs[op.bottoms[bottom]].needs_gradient &&
         op.layer->Differentiable(static_cast<int>(bottom));
}

void FindGradients(Phase phase, CompiledNet* net) {
  if (phase == TEST) return;
  std::set<int> reached;  // blobs that a loss depends on
  for (size_t k = net->ops.size(); k-- > 0;) {
    CompiledOp& op = net->ops[k];
    bool behind = false;
    for (size_t i = 0; i < op.tops.size(); ++i) {
      behind |= op.layer->LossWeight(static_cast<int>(i)) != 0 || reached.count(op.tops[i]);
    }
    if (!behind) continue;
    for (size_t i = 0; i < op.bottoms.size(); ++i) {
      if (!Propagates(*net, op, i)) continue;
      op.backward = true;
      reached.insert(op.bottoms[i]);
    }
    op.backward |= Trains(op);
  }
}

std::vector<bool> BlobsThatNeedGradients(const CompiledNet& net, const std::vector<int>& ended) {
  std::vector<bool> need(net.blobs.size());
  for (const CompiledOp& op : net.ops) {
    bool needs = TrainsOthers(op, ended);
    for (size_t i = 0; i < op.bottoms.size(); ++i) {
      needs |= need[op.bottoms[i]] && Propagates(net, op, i);
    }
    for (int top : op.tops) need[top] = needs;
  }
  return need;
}

}  // namespace gf
