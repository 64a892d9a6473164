#include "tools/gfbench/peer.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <regex>

#include "comm/agree.h"
#include "core/error.h"
#include "tools/gfbench/named_values.h"

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

// What the command prints. Throws UserError if it fails, and warns before, because the commands of
// other ranks may wait for this one until the ranks' deadline.
std::string Output(const Peer& peer) {
  constexpr size_t kShown = 1000;
  std::FILE* const pipe = popen(StrCat("( ", peer.command, "\n) 2>&1").c_str(), "r");
  if (pipe == nullptr) ThrowUserError("--peers: \"", peer.name, "\": cannot start a process");
  std::string output;
  char part[4096];
  while (const size_t some = std::fread(part, 1, sizeof(part), pipe)) output.append(part, some);
  const int status = pclose(pipe);
  if (status != 0) {
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    const std::string what =
        StrCat("--peers: \"", peer.name, "\" ended with exit code ", code, ": ", peer.command);
    PrintWarning(StrCat(what, "; it printed\n",
                        output.substr(output.size() - std::min(output.size(), kShown))));
    ThrowUserError(what);
  }
  return output;
}

double StepSeconds(const Peer& peer, const std::string& output) {
  static const std::regex figure("\"step_ms\": ?([0-9.eE+-]+)");
  double seconds = 0;
  for (std::sregex_iterator at(output.begin(), output.end(), figure), end; at != end; ++at) {
    seconds = std::strtod((*at)[1].str().c_str(), nullptr) * 1e-3;
  }
  if (!(seconds > 0)) {
    ThrowUserError("--peers: \"", peer.name, "\" prints no \"step_ms\": X: ", peer.command);
  }
  return seconds;
}

}  // namespace

std::vector<Peer> ParsePeers(const std::string& text) {
  std::vector<Peer> peers;
  for (const auto& [name, command] : NamedValues("--peers", text)) {
    if (command.empty()) ThrowUserError("--peers: \"", name, "\": expected NAME = COMMAND");
    peers.push_back({name, command});
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
  double seconds = 0;
  AgreeOnErrors(comm, label, [&] {
    const std::string output = Output(peer);
    if (comm->rank() == 0) seconds = StepSeconds(peer, output);
  });
  comm->AllReduce(&seconds, 1, ReduceOp::kMax, label);
  return seconds;
}

}  // namespace gf
