#include "comm/nccl/nccl_comm.h"

#include <chrono>
#include <cstring>
#include <exception>
#include <thread>

#include "comm/nccl/collectives.h"
#include "core/error.h"

namespace gf {
namespace {

// A collective is on its stream after some tens of microseconds: looked for often at first.
constexpr int kQuickPolls = 200;
constexpr auto kPollInterval = std::chrono::microseconds(50);

}  // namespace

NcclComm::NcclComm(Communicator* comm, double limit_s) : limit_s_(limit_s) {
  std::string bytes;
  if (comm->rank() == 0) {
    ncclUniqueId id;
    // Without an id the others learn of the error.
    if (ncclGetUniqueId(&id) == ncclSuccess) bytes.assign(id.internal, sizeof(id.internal));
  }
  comm->Broadcast(&bytes, 0, "the start of NCCL");
  ncclUniqueId id;
  if (bytes.size() != sizeof(id.internal)) {
    throw CommError(StrCat("NCCL cannot start on ", RankName(0, comm->hosts()), " (",
                           ncclGetLastError(nullptr),
                           "): NCCL_DEBUG=WARN says more; "
                           "comm.device_transport: host does without it"));
  }
  std::memcpy(id.internal, bytes.data(), bytes.size());
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const ncclResult_t result =
      ncclCommInitRankConfig(&comm_, comm->size(), id, comm->rank(), &config);
  if (IsError(result)) throw CommError(StrCat("the start of NCCL: ", Words(result)));
}

NcclComm::~NcclComm() {
  if (comm_ == nullptr) return;
  if (std::uncaught_exceptions() == 0 && connected_ && Finalize()) {
    ncclCommDestroy(comm_);
  } else {
    ncclCommAbort(comm_);
  }
}

void NcclComm::Enqueue(const std::function<ncclResult_t(ncclComm_t)>& enqueue) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (comm_ == nullptr) throw CommError("NCCL was aborted");
  if (!connected_) Finish("connecting the ranks", ncclInProgress);
  connected_ = true;
  Finish("a collective", enqueue(comm_));
}

void NcclComm::Finish(const char* what, ncclResult_t result) {
  const auto start = std::chrono::steady_clock::now();
  const std::chrono::duration<double> limit(limit_s_);
  if (IsError(result)) throw CommError(StrCat(what, ": ", Words(result)));
  for (int polls = 0;; ++polls) {
    const ncclResult_t asked = ncclCommGetAsyncError(comm_, &result);
    if (IsError(asked)) result = asked;
    if (result == ncclSuccess) return;
    if (IsError(result)) throw CommError(StrCat(what, ": ", Words(result)));
    if (std::chrono::steady_clock::now() - start > limit) {
      throw CommError(StrCat(what, ": not done after ", limit_s_, " s"));
    }
    if (polls < kQuickPolls) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kPollInterval);
    }
  }
}

bool NcclComm::Finalize() {
  try {
    Finish("the end", ncclCommFinalize(comm_));
    return true;
  } catch (const CommError&) {
    return false;
  }
}

std::string NcclComm::Error() {
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || comm_ == nullptr) return "";
  ncclResult_t result = ncclSuccess;
  const ncclResult_t asked = ncclCommGetAsyncError(comm_, &result);
  if (IsError(asked)) return Words(asked);
  return IsError(result) ? Words(result) : "";
}

void NcclComm::Abort() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (comm_ == nullptr) return;
  ncclCommAbort(comm_);
  comm_ = nullptr;
}

std::string NcclComm::Words(ncclResult_t result) const {
  const char* const last = ncclGetLastError(comm_);
  const std::string more = last != nullptr && *last != '\0' ? StrCat(" (", last, ")") : "";
  return StrCat(ncclGetErrorString(result), more, "; NCCL_DEBUG=WARN says more");
}

}  // namespace gf
