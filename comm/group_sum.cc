#include "comm/group_sum.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/error.h"
#include "core/readable.h"

namespace gf {
namespace {

// The numbers of all ranks of the group travel as they are and are added in the order of the ranks:
// sums in double precision, and the same everywhere.
class GatheredSum : public GroupSum {
 public:
  GatheredSum(int size, Communicator* comm) : size_(size), comm_(comm) {}

  int size() const override { return size_; }

  void Sum(double* values, int64_t count) override {
    if (count == 0) return;
    gathered_.resize(size_ * count);
    std::memcpy(&gathered_[comm_->rank() % size_ * count], values, count * sizeof(double));
    Collective collective;
    collective.kind = Collective::kAllGather;
    collective.data = gathered_.data();
    // FP32 pairs: halves of the doubles, which nobody adds up on the way.
    collective.count = size_ * count * 2;
    collective.group = size_;
    comm_->Run(collective, "statistics of a batch norm");
    std::fill(values, values + count, 0.0);
    for (int r = 0; r < size_; ++r) {
      for (int64_t i = 0; i < count; ++i) values[i] += gathered_[r * count + i];
    }
  }

 private:
  const int size_;
  Communicator* const comm_;
  std::vector<double> gathered_;  // [rank of the group][value]
};

}  // namespace

std::unique_ptr<GroupSum> NewGroupSum(int size, Communicator* comm) {
  const int world = comm->size();
  if (size == 0) size = world;
  if (size < 0 || world % size != 0) {
    ThrowUserError("batch_norm_group: groups of ", size, " do not fill ", Counted(world, "rank"),
                   ": set it to a divisor of ", world, ", or to 0 for all");
  }
  if (size == 1) return nullptr;
  return std::make_unique<GatheredSum>(size, comm);
}

}  // namespace gf
