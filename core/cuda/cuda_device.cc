#include "core/cuda/cuda_device.h"

#include <glog/logging.h>

#include "core/cuda/channels_last.h"
#include "core/cuda/convert_kernels.h"
#include "core/cuda/error.h"
#include "core/cuda/graph.h"
#include "core/cuda/pinned_reading.h"
#include "core/cudnn_sums.h"

namespace gf {
namespace {

// Order of a tensor's elements: the view [outer][channels][spatial] of its plain order, and whether
// channels come last in memory. A plain tensor may take any view.
struct Order {
  int64_t outer, channels, spatial;
  bool channels_last;
};

Order OrderOf(const Tensor& tensor, const Tensor& other) {
  const ChannelsLast* own = AsChannelsLast(tensor.desc.layout);
  if (own != nullptr) return {own->outer(), own->channels(), own->spatial(), true};
  const ChannelsLast* theirs = AsChannelsLast(other.desc.layout);
  if (theirs != nullptr) return {theirs->outer(), theirs->channels(), theirs->spatial(), false};
  return {1, 1, tensor.desc.shape.count(), false};
}

}  // namespace

CudaDevice::CudaDevice() : context_(CudaContext::Get()) { CheckKernelsRunHere(); }

std::string CudaDevice::Description() const {
  const cudaDeviceProp& p = context_.properties();
  int runtime = 0, driver = 0;
  GF_CUDA(cudaRuntimeGetVersion(&runtime));
  GF_CUDA(cudaDriverGetVersion(&driver));
  const auto version = [](int v) { return StrCat(v / 1000, ".", v % 1000 / 10); };
  return StrCat("cuda, GPU ", context_.ordinal(), ": ", p.name, ", ", p.multiProcessorCount,
                " multiprocessors, ", p.totalGlobalMem >> 30, " GiB, compute capability ", p.major,
                ".", p.minor, ", CUDA ", version(runtime), ", driver for ", version(driver));
}

std::string CudaDevice::Model() const {
  int runtime = 0;
  GF_CUDA(cudaRuntimeGetVersion(&runtime));
  return StrCat(context_.properties().name, ", CUDA ", runtime / 1000, ".", runtime % 1000 / 10);
}

std::string CudaDevice::Address() const {
  char bus_id[32] = {};
  GF_CUDA(cudaDeviceGetPCIBusId(bus_id, sizeof(bus_id), context_.ordinal()));
  return bus_id;
}

bool CudaDevice::Supports(DType compute) const {
  if (compute == DType::kBF16) return context_.properties().major >= 8;
  return compute == DType::kFP32 || compute == DType::kFP16;
}

bool CudaDevice::SumsInConvolutions(DType compute) const {
  return HasCudnnSums(context_.properties().major, compute);
}

std::shared_ptr<void> CudaDevice::Allocate(size_t bytes) {
  CudaContext::Get();  // any thread may call
  std::shared_ptr<void> data = context_.memory()->Allocate(bytes);
  // Zeroed on the compute stream and then synchronized, so that every stream sees zeros.
  Zero(data.get(), bytes, compute_stream());
  compute_stream()->Synchronize();
  return data;
}

void CudaDevice::Zero(void* data, size_t bytes, Stream* stream) {
  if (bytes > 0) GF_CUDA(cudaMemsetAsync(data, 0, bytes, RawStream(stream)));
}

std::unique_ptr<Recording> CudaDevice::Record(const std::function<void()>& enqueue) {
  return RecordGraph(RawStream(compute_stream()), enqueue);
}

std::unique_ptr<Stream> CudaDevice::NewStream(StreamUse use) {
  return std::make_unique<CudaStream>(use == StreamUse::kCommunication);
}

void CudaDevice::CopyToHost(const void* from, void* host, size_t bytes, Stream* stream) {
  CudaContext::Get();
  GF_CUDA(cudaMemcpyAsync(host, from, bytes, cudaMemcpyDeviceToHost, RawStream(stream)));
  stream->Synchronize();
}

void CudaDevice::CopyFromHost(const void* host, void* to, size_t bytes, Stream* stream) {
  CudaContext::Get();
  GF_CUDA(cudaMemcpyAsync(to, host, bytes, cudaMemcpyHostToDevice, RawStream(stream)));
  stream->Synchronize();
}

std::unique_ptr<HostReading> CudaDevice::Read(const void* from, size_t bytes, Stream* stream) {
  CudaContext::Get();
  return std::make_unique<PinnedReading>(from, bytes, RawStream(stream));
}

void CudaDevice::Convert(const Tensor& from, const Tensor& to, Stream* stream) {
  CudaContext::Get();
  const int64_t count = from.desc.shape.count();
  CHECK_EQ(count, to.desc.shape.count());
  const Order source = OrderOf(from, to), target = OrderOf(to, from);
  if (source.channels_last == target.channels_last) {
    CHECK(source.channels == target.channels && source.spatial == target.spatial)
        << from.desc.layout.Name() << " " << to.desc.layout.Name();
    CastElements(from.desc.dtype, from.data, to.desc.dtype, to.data, count, RawStream(stream));
    return;
  }
  // Transposes one matrix per image.
  const bool to_last = target.channels_last;
  TransposeElements(from.desc.dtype, from.data, to.desc.dtype, to.data, source.outer,
                    to_last ? source.channels : source.spatial,
                    to_last ? source.spatial : source.channels, RawStream(stream));
}

namespace {

const bool registered = DeviceRegistry::Get().Add(
    "cuda",
    [](int /*threads*/) -> std::unique_ptr<Device> { return std::make_unique<CudaDevice>(); });

}  // namespace
}  // namespace gf
