#include "models/blob_values.h"

#include <glog/logging.h>

#include "models/graph.h"

namespace gf {
namespace {

const void* Address(const CompiledNet& net, int buffer) {
  return static_cast<const char*>(net.arena.get()) + net.memory.offset(buffer);
}

std::vector<float> Values(const TensorDesc& desc, const void* data, Device* device) {
  Tensor from, to;
  from.desc = desc;
  from.data = const_cast<void*>(data);
  to.desc = {desc.shape, DType::kFP32, Layout()};
  std::vector<float> values(desc.shape.count());
  if (desc.dtype == DType::kFP32 && desc.layout.plain()) {
    device->CopyToHost(data, values.data(), desc.bytes(), device->compute_stream());
    return values;
  }
  if (desc.dtype == DType::kINT64) {
    std::vector<int64_t> labels(values.size());
    device->CopyToHost(data, labels.data(), labels.size() * sizeof(int64_t),
                       device->compute_stream());
    for (size_t i = 0; i < labels.size(); ++i) values[i] = static_cast<float>(labels[i]);
    return values;
  }
  to.owner = device->Allocate(to.desc.bytes());
  to.data = to.owner.get();
  device->Convert(from, to, device->compute_stream());
  device->CopyToHost(to.data, values.data(), to.desc.bytes(), device->compute_stream());
  return values;
}

}  // namespace

int FindBlob(const CompiledNet& net, const std::string& name) {
  int found = -1;
  for (size_t i = 0; i < net.blobs.size(); ++i) {
    const std::string& blob = net.blobs[i].name;
    if (blob.find('@') == std::string::npos && PlainBlobName(blob) == name) {
      found = static_cast<int>(i);
    }
  }
  CHECK_GE(found, 0) << "no blob " << name;
  return found;
}

std::vector<float> BlobValues(const CompiledNet& net, int blob, Device* device) {
  const CompiledBlob& b = net.blobs[blob];
  return Values(b.desc, Address(net, b.buffer), device);
}

std::vector<float> GradientValues(const CompiledNet& net, int blob, Device* device) {
  const CompiledBlob& b = net.blobs[blob];
  CHECK(!b.gradients.empty()) << b.name << " has no gradient";
  std::vector<int> buffers = b.gradients;
  const CompiledOp& producer = net.ops[b.producer];
  for (size_t i = 0; i < producer.gradient_sums.size(); ++i) {
    // The sum overwrote the first gradient.
    if (&b == &net.blobs[producer.tops[i]] && producer.gradient_sums[i]) buffers.resize(1);
  }
  std::vector<float> sum(b.desc.shape.count());
  for (int buffer : buffers) {
    const std::vector<float> values = Values(b.desc, Address(net, buffer), device);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
  }
  return sum;
}

}  // namespace gf
