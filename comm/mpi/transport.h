#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "comm/mpi/waiter.h"
#include "comm/transport.h"

namespace gf {

// Messages by MPI, on a communicator of their own.
class MpiTransport : public Transport {
 public:
  // `parent` is duplicated (collective). The waiter outlives the object.
  MpiTransport(MPI_Comm parent, MpiWaiter* waiter);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int64_t Send(int to, const void* data, size_t bytes, int tag) override;
  int64_t Receive(int from, void* data, size_t bytes, int tag) override;
  bool Done(int64_t message) override;
  void Drive(const std::function<Progress()>& advance, const std::string& operation,
             int64_t bytes) override {
    waiter_->Drive(advance, operation, bytes);
  }

 private:
  int64_t NewSlot();

  MpiWaiter* const waiter_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::vector<MPI_Request> requests_;  // by message number
  std::vector<int64_t> free_;
};

}  // namespace gf
