#include "layers/cuda/labels.h"

namespace gf {

std::vector<int64_t> HostLabels(const KernelArgs& args, const void* labels, const ClassAxis& view,
                                const KernelContext& context) {
  std::vector<int64_t> host;
  if (args.batch != nullptr && !args.batch->labels.empty()) {
    host = args.batch->labels;
    host.resize(view.predictions(), 0);
    return host;
  }
  host.resize(view.predictions());
  context.device->CopyToHost(labels, host.data(), host.size() * sizeof(int64_t),
                             context.device->compute_stream());
  return host;
}

}  // namespace gf
