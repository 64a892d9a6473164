#include "tools/rank_main.h"

#include <glog/logging.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <string>

#include "comm/agree.h"
#include "comm/launch/launch.h"
#include "core/error.h"
#include "solvers/report/run_folder.h"
#include "solvers/train/threads.h"

namespace gf {

void InitLogging(const char* program) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_WARNING;
  google::InitGoogleLogging(program);
}

int RunOnRanks(int* argc, char*** argv, double timeout_s,
               const std::function<int(Communicator*)>& body, const std::string& flight_recorder) {
  const std::unique_ptr<Communicator> comm = NewCommunicator(argc, argv, timeout_s);
  comm->watchdog()->Guard(flight_recorder);
  comm->watchdog()->SetActivity("the start of the job");
  const std::string tool = program_invocation_short_name;
  const auto fail_alone = [&](const std::string& what) {
    const std::string me = RankName(comm->rank(), comm->hosts());
    const std::string where = comm->watchdog()->TellEnd(what);
    std::fflush(stdout);
    std::fprintf(stderr, "%s: error on %s: %s%s\n", tool.c_str(), me.c_str(), what.c_str(),
                 where.c_str());
    std::fflush(stderr);
    comm->Abort(2);
  };
  try {
    const int code = body(comm.get());
    comm->Finalize();
    return code;
  } catch (const AgreedError& e) {
    if (comm->size() == 1) throw;
    if (comm->rank() == 0) {
      std::fflush(stdout);
      std::fprintf(stderr, "%s: error: %s\n", tool.c_str(), e.what());
    }
    comm->Finalize();
    return 2;
  } catch (const UserError& e) {
    if (comm->size() == 1) throw;
    fail_alone(e.what());
  } catch (const std::bad_alloc&) {
    if (comm->size() == 1) throw;
    fail_alone("out of memory: lower batch_size, or run fewer ranks on this host");
  } catch (const CommError&) {
    throw;
  } catch (const std::exception& e) {
    if (comm->size() > 1) comm->watchdog()->TellEnd(StrCat("internal error: ", e.what()));
    throw;
  }
  return 2;
}

int RunJob(int argc, char** argv, FlagSpec flags,
           const std::function<JobConfig(const std::vector<std::string>& overrides)>& read_config,
           const std::function<int(const JobConfig&, int threads, Communicator*)>& body) {
  InitLogging(argv[0]);
  std::vector<std::string> overrides;
  flags.overrides = &overrides;
  JobConfig config;
  std::exception_ptr mistake;
  try {
    const int code = ParseFlags(argc, argv, flags);
    if (code >= 0) return code;
    config = read_config(overrides);
  } catch (const UserError&) {
    mistake = std::current_exception();
  }
  const auto checked_body = [&](Communicator* comm) {
    AgreeOnErrors(comm, "reading the config", [&] {
      if (mistake) std::rethrow_exception(mistake);
    });
    return body(config, SetComputeThreads(config.threads(), comm), comm);
  };
  return RunOnRanks(&argc, &argv, config.comm().timeout_s(), checked_body,
                    FlightRecorderPrefix(config));
}

}  // namespace gf
