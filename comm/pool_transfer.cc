#include "comm/pool_transfer.h"

#include <algorithm>
#include <cstring>

#include "core/host_copy.h"

namespace gf {

void BroadcastPool(Device* device, const Tensor& pool, const std::string& label,
                   Communicator* comm) {
  if (comm->size() == 1) return;
  HostCopy copy(device, pool);
  char* const memory = copy.tensor().as<char>();
  constexpr size_t kPiece = size_t{32} << 20;
  const size_t bytes = pool.desc.bytes();
  for (size_t at = 0; at < bytes; at += kPiece) {
    const size_t piece = std::min(kPiece, bytes - at);
    std::string text;
    if (comm->rank() == 0) text.assign(memory + at, piece);
    comm->Broadcast(&text, 0, label);
    if (comm->rank() != 0) std::memcpy(memory + at, text.data(), piece);
  }
  if (comm->rank() != 0) copy.Put();
}

void SendPool(Device* device, const Tensor& pool, int to, const std::string& label,
              Communicator* comm) {
  const int64_t count = pool.desc.storage_count();
  if (comm->rank() != 0 && comm->rank() != to) {
    return comm->Transfer(0, to, nullptr, count, label);
  }
  HostCopy copy(device, pool);
  comm->Transfer(0, to, copy.tensor().as<float>(), count, label);
  if (comm->rank() == to) copy.Put();
}

}  // namespace gf
