#include "solvers/pool_exchange.h"

#include <algorithm>
#include <cstring>

namespace gf {

void BroadcastPool(const Tensor& pool, const std::string& label, Communicator* comm) {
  if (comm->size() == 1) return;
  constexpr size_t kPiece = size_t{32} << 20;
  const size_t bytes = pool.desc.bytes();
  for (size_t at = 0; at < bytes; at += kPiece) {
    const size_t piece = std::min(kPiece, bytes - at);
    std::string text;
    if (comm->rank() == 0) text.assign(pool.as<char>() + at, piece);
    comm->Broadcast(&text, 0, label);
    if (comm->rank() != 0) std::memcpy(pool.as<char>() + at, text.data(), piece);
  }
}

void SendPool(const Tensor& pool, int to, const std::string& label, Communicator* comm) {
  comm->Transfer(0, to, pool.as<float>(), pool.desc.storage_count(), label);
}

}  // namespace gf
