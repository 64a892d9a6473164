#include "comm/communicator.h"

#include <glog/logging.h>
#include <unistd.h>

#include "core/error.h"

namespace gf {

void Communicator::SetRanks(int rank, std::vector<std::string> hosts) {
  CHECK(0 <= rank && rank < static_cast<int>(hosts.size())) << rank << " of " << hosts.size();
  rank_ = rank;
  hosts_ = std::move(hosts);
}

std::shared_ptr<Pending> Communicator::Start(const Collective& collective,
                                             const std::string& label) {
  const auto pending = std::make_shared<Pending>(label);
  pending->Begin();
  Run(collective, label);
  pending->End(nullptr);
  return pending;
}

void Communicator::AllReduceSum(void* data, int64_t count, DType dtype, const std::string& label) {
  Run({Collective::kAllReduce, data, count, dtype, dtype, "native"}, label);
}

void Communicator::Transfer(int from, int to, float* data, int64_t count,
                            const std::string& label) {
  CHECK_NE(from, to) << label;
  Collective collective;
  collective.kind = Collective::kTransfer;
  collective.data = data;
  collective.count = count;
  collective.from = from;
  collective.to = to;
  Run(collective, label);
}

std::string HostName() {
  char name[256] = {};
  if (gethostname(name, sizeof(name) - 1) != 0) return "?";
  return name;
}

std::string RankName(int rank, const std::vector<std::string>& hosts) {
  return StrCat("rank ", rank, " (host ", hosts[rank], ")");
}

std::string RankList(const std::vector<int>& ranks) {
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(ranks[i]);
    if (last > i) text += (last > i + 1 ? "-" : ", ") + std::to_string(ranks[last]);
    i = last + 1;
  }
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

}  // namespace gf
