#include "comm/mpi/transport.h"

#include <glog/logging.h>

#include <climits>

namespace gf {

MpiTransport::MpiTransport(MPI_Comm parent, MpiWaiter* waiter) : waiter_(waiter) {
  CheckMpi(MPI_Comm_dup(parent, &comm_), "start");
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
  int* largest = nullptr;
  int known = 0;
  MPI_Comm_get_attr(comm_, MPI_TAG_UB, &largest, &known);
  CHECK(known && *largest >= kTags - 1) << "this MPI has too few tags";
}

int64_t MpiTransport::NewSlot() {
  if (free_.empty()) {
    requests_.push_back(MPI_REQUEST_NULL);
    return static_cast<int64_t>(requests_.size()) - 1;
  }
  const int64_t slot = free_.back();
  free_.pop_back();
  return slot;
}

int64_t MpiTransport::Send(int to, const void* data, size_t bytes, int tag) {
  CHECK_LE(bytes, static_cast<size_t>(INT_MAX));
  const int64_t slot = NewSlot();
  CheckMpi(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, comm_, &requests_[slot]),
           "send");
  return slot;
}

int64_t MpiTransport::Receive(int from, void* data, size_t bytes, int tag) {
  CHECK_LE(bytes, static_cast<size_t>(INT_MAX));
  const int64_t slot = NewSlot();
  CheckMpi(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, tag, comm_, &requests_[slot]),
           "receive");
  return slot;
}

bool MpiTransport::Done(int64_t message) {
  int done = 0;
  CheckMpi(MPI_Test(&requests_[message], &done, MPI_STATUS_IGNORE), "message");
  if (done) free_.push_back(message);
  return done != 0;
}

}  // namespace gf
