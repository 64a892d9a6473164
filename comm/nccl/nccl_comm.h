#pragma once

#include <nccl.h>

#include <functional>
#include <mutex>
#include <string>

#include "comm/communicator.h"

namespace gf {

// NCCL's communicator over all ranks of a job, on the current GPU. It connects in the background
// from construction on; the first Enqueue waits for that. No call into NCCL blocks for long, and
// none is made by two threads at once.
class NcclComm {
 public:
  // Collective; throws CommError on all ranks if NCCL cannot begin on rank 0. `limit_s`: how long
  // Enqueue waits for NCCL.
  NcclComm(Communicator* comm, double limit_s);
  ~NcclComm();
  NcclComm(const NcclComm&) = delete;
  NcclComm& operator=(const NcclComm&) = delete;

  // Makes calls of NCCL, `enqueue` returns what they say; all ranks do the same. When this returns,
  // what they ask for is on its stream. Throws CommError if NCCL reports an error, does not get
  // there in time, or was aborted.
  void Enqueue(const std::function<ncclResult_t(ncclComm_t)>& enqueue);

  // What has gone wrong since, "" if nothing did or another thread is in Enqueue.
  std::string Error();

  // Ends everything that is enqueued; nothing can follow.
  void Abort();

 private:
  // Waits until NCCL has done what it was asked for; `result`: of the call.
  void Finish(const char* what, ncclResult_t result);
  // Whether that was possible.
  bool Finalize();
  std::string Words(ncclResult_t result) const;

  const double limit_s_;
  std::mutex mutex_;
  ncclComm_t comm_ = nullptr;
  bool connected_ = false;
};

}  // namespace gf
