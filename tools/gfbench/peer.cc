#include "tools/gfbench/peer.h"

#include <gflags/gflags.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <regex>

#include "comm/agree.h"
#include "core/error.h"
#include "tools/gfbench/command_group.h"
#include "tools/gfbench/named_values.h"

DEFINE_string(peers, "",
              "`PEERS` separated by \";\": NAME = a command that times the same steps in another "
              "framework, such as tools/gfbench/torch_step");
DEFINE_double(peer_timeout_s, 600, "`SECONDS` after which a peer is killed and the run ends");

namespace gf {
namespace {

// A TCP port of this host that nobody listens on now.
int FreePort() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  socklen_t size = sizeof(address);
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  const bool found =
      listener >= 0 && bind(listener, plain, size) == 0 && getsockname(listener, plain, &size) == 0;
  if (listener >= 0) close(listener);
  if (!found) ThrowUserError("--peers: this host has no free TCP port");
  return ntohs(address.sin_port);
}

void SetVariable(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

// How far a rank's process is; the gravest comes last.
enum State : int64_t { kEnded, kRuns, kLate, kFailed };

// Returns the gravest state of all ranks when every process has ended, one has failed, or the limit
// is over. The ranks tell each other now and then: a process whose partner has failed may wait for
// it for long. Collective.
State Await(CommandGroup* process, Communicator* comm, const std::string& label) {
  using Clock = std::chrono::steady_clock;
  constexpr double kLongestWait_s = 0.5;
  const auto start = Clock::now();
  double wait_s = 0.01;
  for (;;) {
    const bool ended = process->WaitFor(wait_s);
    const double passed_s = std::chrono::duration<double>(Clock::now() - start).count();
    int64_t state = passed_s >= FLAGS_peer_timeout_s ? kLate : kRuns;
    if (ended) state = process->exit_code() == 0 ? kEnded : kFailed;
    comm->AllReduce(&state, 1, ReduceOp::kMax, label);
    if (state != kRuns) return static_cast<State>(state);
    wait_s = std::min({2 * wait_s, kLongestWait_s, std::max(FLAGS_peer_timeout_s - passed_s, 0.0)});
  }
}

// Whether this rank's process has ended. Throws UserError if it has failed, or still runs although
// the limit is over, and warns before with the end of its output.
bool CheckedEnd(const Peer& peer, CommandGroup* process, State gravest) {
  constexpr size_t kShown = 1000;
  std::string what;
  if (!process->WaitFor(0)) {
    if (gravest != kLate) return false;
    what = StrCat("still runs after ", FLAGS_peer_timeout_s,
                  " s (--peer_timeout_s; raise it if the peer needs longer)");
  } else if (process->exit_code() != 0) {
    what = StrCat("ended with exit code ", process->exit_code());
  } else {
    return true;
  }
  process->Kill();
  what = StrCat("--peers: \"", peer.name, "\" ", what, ": ", peer.command);
  const std::string& output = process->output();
  if (output.empty()) ThrowUserError(what, "; it printed nothing");
  PrintWarning(StrCat(what, "; it printed\n",
                      output.substr(output.size() - std::min(output.size(), kShown))));
  ThrowUserError(what);
}

double StepSeconds(const Peer& peer, const std::string& output) {
  static const std::regex figure("\"step_ms\": ?([^ ,}\n]*)");
  std::string number;
  for (std::sregex_iterator at(output.begin(), output.end(), figure), end; at != end; ++at) {
    number = (*at)[1].str();
  }
  const auto mistake = [&](const std::string& what) {
    ThrowUserError("--peers: \"", peer.name, "\" ", what,
                   ", expected the milliseconds of a step as \"step_ms\": NUMBER; the command is: ",
                   peer.command);
  };
  if (number.empty()) mistake(output.empty() ? "printed nothing" : "printed no \"step_ms\"");
  char* end = nullptr;
  const double milliseconds = std::strtod(number.c_str(), &end);
  if (*end != '\0' || !(milliseconds > 0) || !std::isfinite(milliseconds)) {
    mistake(StrCat("printed \"step_ms\": ", number));
  }
  return milliseconds * 1e-3;
}

}  // namespace

std::vector<Peer> PeersOfFlags() {
  if (!(FLAGS_peer_timeout_s > 0)) {
    ThrowUserError("--peer_timeout_s is ", FLAGS_peer_timeout_s, ", must be more than 0");
  }
  std::vector<Peer> peers;
  for (const auto& [name, command] : NamedValues("--peers", FLAGS_peers)) {
    if (command.empty()) ThrowUserError("--peers: \"", name, "\": expected NAME = COMMAND");
    for (const Peer& other : peers) {
      if (other.name != name) continue;
      ThrowUserError("--peers names \"", name, "\" twice; give each peer a different name");
    }
    peers.push_back({name, command});
  }
  if (peers.empty() && !gflags::GetCommandLineFlagInfoOrDie("peer_timeout_s").is_default) {
    ThrowUserError("--peer_timeout_s goes with --peers");
  }
  return peers;
}

double RunPeer(const Peer& peer, Communicator* comm) {
  const std::string label = StrCat("peer ", peer.name);
  int64_t port = 0;
  AgreeOnErrors(comm, label, [&] {
    if (comm->rank() == 0) port = FreePort();
  });
  comm->AllReduce(&port, 1, ReduceOp::kMax, label);
  const std::vector<std::string>& hosts = comm->hosts();
  const bool one_host =
      std::all_of(hosts.begin(), hosts.end(), [&](const auto& host) { return host == hosts[0]; });
  SetVariable("RANK", StrCat(comm->rank()));
  SetVariable("WORLD_SIZE", StrCat(comm->size()));
  SetVariable("MASTER_ADDR", one_host ? "127.0.0.1" : hosts[0]);
  SetVariable("MASTER_PORT", StrCat(port));
  std::unique_ptr<CommandGroup> process;
  AgreeOnErrors(comm, label, [&] { process = std::make_unique<CommandGroup>(peer.command); });
  const State gravest = Await(process.get(), comm, label);
  double seconds = 0;
  AgreeOnErrors(comm, label, [&] {
    const bool ended = CheckedEnd(peer, process.get(), gravest);
    if (ended && comm->rank() == 0) seconds = StepSeconds(peer, process->output());
  });
  comm->AllReduce(&seconds, 1, ReduceOp::kMax, label);
  return seconds;
}

}  // namespace gf
