#include "models/class_losses.h"
#include "models/compiled_net.h"

namespace gf {

int FindOutputs(const CompiledNet& net, LabelConfig::Type labels) {
  for (size_t k = net.ops.size(); k-- > 0;) {
    const CompiledOp& op = net.ops[k];
    if (!ReadsOutputs(labels, op.layer->type())) continue;
    // The two bottoms of a pair loss may have any order.
    const bool labels_first = op.bottoms.size() == 2 && net.blobs[op.bottoms[0]].label_values;
    return op.bottoms[labels_first ? 1 : 0];
  }
  if (labels == LabelConfig::CLASS) return -1;
  for (size_t k = net.ops.size(); k-- > 0;) {
    const CompiledOp& op = net.ops[k];
    if (op.bottoms.empty() || op.tops.size() != 1) continue;
    const CompiledBlob& top = net.blobs[op.tops[0]];
    if (!top.readers.empty() || top.desc.shape.rank() < 2) continue;
    if (labels == LabelConfig::VALUES) return op.tops[0];
    if (op.layer->type() == "Sigmoid") return op.bottoms[0];
  }
  return -1;
}

}  // namespace gf
