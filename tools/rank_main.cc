#include "tools/rank_main.h"

#include <glog/logging.h>
#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "comm/agree.h"
#include "comm/consistency.h"
#include "comm/launch/launch.h"
#include "core/error.h"
#include "solvers/report/run_folder.h"

namespace gf {
namespace {

// Prints an error of this rank alone, and ends the job if there are other ranks. Must be called
// where `error` is caught: what this function cannot handle is thrown on.
void EndAlone(const std::exception& error, Communicator* comm) {
  const Failure failure = Describe(error);
  if (comm->size() == 1 || failure.exit_code == 3) throw;
  const bool bug = failure.exit_code == 1;
  const std::string where =
      comm->watchdog()->TellEnd(bug ? failure.kind + ": " + failure.message : failure.message);
  if (bug) throw;
  std::fflush(stdout);
  PrintError(StrCat(failure.kind, " on ", RankName(comm->rank(), comm->hosts())),
             failure.message + where);
  comm->Abort(failure.exit_code);
}

// The config, which --config or --solver and --set make, is compared later as a whole.
void CheckSameFlags(const FlagSpec& spec, Communicator* comm) {
  auto flags = GivenFlags(spec);
  flags.erase(std::remove_if(flags.begin(), flags.end(),
                             [](const auto& flag) {
                               return flag.first == "--config" || flag.first == "--solver";
                             }),
              flags.end());
  try {
    CheckSameOnAllRanks(comm, flags);
  } catch (const UserError& error) {
    throw AgreedError(error.what());
  }
}

// The UserError that `body` throws; null: none.
std::exception_ptr MistakeOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const UserError&) {
    return std::current_exception();
  }
  return nullptr;
}

// Throws the mistakes of the ranks on all of them. Collective.
void Tell(const std::exception_ptr& mistake, const std::string& label, Communicator* comm) {
  AgreeOnErrors(comm, label, [&] {
    if (mistake) std::rethrow_exception(mistake);
  });
}

// Other ranks would wait for one that has printed its help and gone.
void CheckAllAnswered(bool mine, Communicator* comm) {
  std::vector<int> ranks;
  const std::vector<std::string> all = comm->AllGather(mine ? "help" : "", "comparing the flags");
  for (int rank = 0; rank < comm->size(); ++rank) {
    if (!all[rank].empty()) ranks.push_back(rank);
  }
  if (ranks.empty() || static_cast<int>(ranks.size()) == comm->size()) return;
  throw AgreedError(StrCat("ranks disagree on their flags: ", RankList(ranks),
                           ranks.size() == 1 ? " asks" : " ask",
                           " for --help, --version or nothing at all; give every rank the same"));
}

}  // namespace

void InitLogging(const char* program) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = std::max<int>(FLAGS_minloglevel, google::GLOG_WARNING);
  google::InitGoogleLogging(program);
}

int SetComputeThreads(int configured, Communicator* comm) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  int processors = omp_get_num_procs();
  std::string allowed;
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) {
    processors = CPU_COUNT(&mask);
    for (int i = 0; i < CPU_SETSIZE; ++i) allowed += CPU_ISSET(i, &mask) ? '1' : '0';
  }
  const std::string mine = comm->host() + " " + allowed;
  const std::vector<std::string> all = comm->AllGather(mine, "sharing out the processors");
  const int sharers = static_cast<int>(std::count(all.begin(), all.end(), mine));
  const int threads = configured > 0 ? configured : std::max(1, processors / sharers);
  omp_set_num_threads(threads);
  return threads;
}

int RunOnRanks(int* argc, char*** argv, double timeout_s,
               const std::function<int(Communicator*)>& body, const std::string& flight_recorder) {
  // A rank whose output has lost its reader (Ctrl-C also ends the tee of `... | tee log`) goes on
  // to its checkpoint.
  std::signal(SIGPIPE, SIG_IGN);
  const std::unique_ptr<Communicator> comm = NewCommunicator(argc, argv, timeout_s);
  comm->watchdog()->Guard(flight_recorder);
  comm->watchdog()->SetActivity("the start of the job");
  int code = 0;
  try {
    code = body(comm.get());
  } catch (const AgreedError& error) {
    code = 2;
    std::fflush(stdout);
    if (comm->rank() == 0) PrintError("error", error.what());
  } catch (const std::exception& error) {
    EndAlone(error, comm.get());
  }
  comm->Finalize();
  return code;
}

int CheckAndRunOnRanks(const Arguments& arguments, const std::function<double()>& check,
                       const std::function<int(Communicator*)>& body) {
  double timeout_s = CommConfig().timeout_s();
  const bool answered = arguments.answered >= 0;
  std::exception_ptr mistake = arguments.mistake;
  if (!mistake && !answered) mistake = MistakeOf([&] { timeout_s = check(); });
  int argc = arguments.argc;
  char** argv = arguments.argv;
  return RunOnRanks(&argc, &argv, timeout_s, [&](Communicator* comm) {
    CheckAllAnswered(answered, comm);
    if (answered) return arguments.answered;
    Tell(mistake, "checking the flags", comm);
    CheckSameFlags(arguments.spec, comm);
    return body(comm);
  });
}

int RunJob(int argc, char** argv, FlagSpec flags, JobTool* tool) {
  InitLogging(argv[0]);
  std::vector<std::string> overrides;
  flags.overrides = &overrides;
  JobConfig config;
  int answered = -1;  // the exit code of a rank whose flags only ask for help
  const std::exception_ptr mistake = MistakeOf([&] {
    answered = ParseFlags(argc, argv, flags);
    if (answered < 0) config = tool->ReadConfig(overrides);
  });
  const auto body = [&](Communicator* comm) {
    CheckAllAnswered(answered >= 0, comm);
    if (answered >= 0) return answered;
    Tell(mistake, "reading the config", comm);
    CheckSameFlags(flags, comm);
    tool->Run(config, SetComputeThreads(config.threads(), comm), comm);
    return 0;
  };
  return RunOnRanks(&argc, &argv, config.comm().timeout_s(), body, FlightRecorderPrefix(config));
}

}  // namespace gf
