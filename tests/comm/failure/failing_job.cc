// failing_job HOW PREFIX: three ranks, of which the last one does something else than the others.
// Flight recorders go to PREFIX.rank<k>.json.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "comm/communicator.h"
#include "comm/consistency.h"
#include "comm/launch/launch.h"
#include "core/error.h"

namespace gf {
namespace {

constexpr double kTimeout_s = 2;

int Body(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  const auto comm = NewCommunicator(&argc, &argv, kTimeout_s);
  const bool last = comm->rank() == comm->size() - 1;
  comm->watchdog()->Guard(argc > 2 ? argv[2] : "");
  comm->watchdog()->SetActivity("step 12");
  comm->Barrier("start");
  if (how == "disagree") {
    CheckSameOnAllRanks(comm.get(), {{"solver.base_lr", last ? "0.2" : "0.1"}});
    return 0;
  }
  if (last) {
    if (how == "sleeps") std::this_thread::sleep_for(std::chrono::seconds(60));
    if (how == "stopped") std::raise(SIGSTOP);
    if (how == "killed") std::raise(SIGKILL);
    if (how == "leaves") throw UserError("shard-3.tar: not found");
    if (how == "abort") comm->Abort(9);
    if (how == "tells") {
      const std::string where = comm->watchdog()->TellEnd("shard-3.tar: not found");
      std::fprintf(stderr, "error: shard-3.tar: not found%s\n", where.c_str());
      comm->Abort(2);
    }
    if (how == "elsewhere") {
      comm->Barrier("the checkpoint of step 11");
      comm->Barrier("the validation of step 11");
    }
  }
  float value = 1;
  if (how == "elsewhere") comm->Barrier("the checkpoint of step 11");
  // In a ring, rank 1 gets nothing from rank 2 but through rank 0.
  if (how == "ring" && last) std::raise(SIGSTOP);
  if (how == "ring" || how == "elsewhere") {
    std::vector<float> values(1 << 20, 1.f);
    comm->Run({Collective::kAllReduce, values.data(), static_cast<int64_t>(values.size()),
               DType::kFP32, DType::kFP32, "ring"},
              "fc6.weight, step 12");
  }
  comm->AllReduceSum(&value, 1, DType::kFP32, "fc6.weight, step 12");
  comm->Finalize();
  // The communication thread lives on, MPI does not.
  if (how == "lingers") std::this_thread::sleep_for(std::chrono::milliseconds(200));
  return 0;
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) { return gf::RunMain(gf::Body, argc, argv); }
