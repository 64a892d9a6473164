#include "comm/agree.h"

#include <omp.h>

#include <chrono>
#include <exception>
#include <future>
#include <map>
#include <vector>

namespace gf {

void AgreeOnErrors(Communicator* comm, const std::string& label,
                   const std::function<void()>& body) {
  std::string mine;
  try {
    body();
  } catch (const UserError& e) {
    mine = e.what();
    if (mine.empty()) mine = "unknown error";
  } catch (const std::exception& e) {
    const Failure failure = Describe(e);
    if (failure.exit_code != 2) throw;
    mine = failure.message;
  }
  const std::vector<std::string> all = comm->AllGather(mine, label);
  std::map<std::string, std::vector<int>> by_message;
  for (int rank = 0; rank < comm->size(); ++rank) {
    if (!all[rank].empty()) by_message[all[rank]].push_back(rank);
  }
  if (by_message.empty()) return;
  std::string text;
  for (const auto& entry : by_message) {
    if (!text.empty()) text += "\n";
    text += entry.first;
    if (static_cast<int>(entry.second.size()) < comm->size()) {
      text += StrCat(" [on ", RankList(entry.second), "]");
    }
  }
  throw AgreedError(text);
}

void RunOnRankZero(Communicator* comm, const std::string& label,
                   const std::function<void()>& body) {
  constexpr auto kSignOfLife = std::chrono::milliseconds(500);
  if (comm->size() == 1) return body();
  std::future<void> work;
  if (comm->rank() == 0) {
    work = std::async(std::launch::async, [&, threads = omp_get_max_threads()] {
      omp_set_num_threads(threads);
      body();
    });
  }
  int64_t done = 0;
  while (done == 0) {
    if (comm->rank() == 0) {
      done = work.wait_for(kSignOfLife) == std::future_status::ready;
    }
    comm->AllReduce(&done, 1, ReduceOp::kMax, label);
  }
  AgreeOnErrors(comm, label, [&] {
    if (comm->rank() == 0) work.get();
  });
}

}  // namespace gf
