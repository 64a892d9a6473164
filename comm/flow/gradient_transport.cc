#include "comm/flow/gradient_transport.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "comm/agree.h"
#include "comm/flow/host_transport.h"
#include "comm/flow/tuner.h"
#include "core/config/job_checks.h"
#include "core/error.h"

namespace gf {
namespace {

// "ranks 0, 2 share the device 0000:17:00.0 of host a", "" if each rank has one of its own.
std::string SharedDevice(const Device& device, Communicator* comm) {
  const std::vector<std::string> addresses =
      comm->AllGather(device.Address(), "addresses of devices");
  std::map<std::pair<std::string, std::string>, std::vector<int>> ranks_of;
  for (int rank = 0; rank < comm->size(); ++rank) {
    ranks_of[{comm->hosts()[rank], addresses[rank]}].push_back(rank);
  }
  for (const auto& [place, ranks] : ranks_of) {
    if (ranks.size() < 2) continue;
    const std::string address = place.second.empty() ? "" : " " + place.second;
    return StrCat(RankList(ranks), " share the device", address, " of host ", place.first);
  }
  return "";
}

// What keeps the devices of this job from carrying gradients themselves, "" if nothing does. The
// same on all ranks.
std::string Obstacle(const CommConfig& config, const Device& device, Communicator* comm) {
  if (!GradientTransportRegistry::Get().Has(device.name())) {
    return StrCat("the program has none for the device \"", device.name(), "\"");
  }
  // MPI works on the host's memory; plans run anywhere.
  if (config.algorithm() == "native" || config.algorithm() == "mpi") {
    return StrCat("comm.algorithm: ", config.algorithm(), " is the host's");
  }
  if (config.threshold_auto()) return "comm.threshold_auto measures the host's";
  return SharedDevice(device, comm);
}

}  // namespace

std::unique_ptr<GradientTransport> NewGradientTransport(const CommConfig& config,
                                                        bool deterministic, Device* device,
                                                        Communicator* comm) {
  CheckComm(config, "comm");
  const std::string& transport = config.device_transport();
  std::optional<AlgorithmChoice> algorithms;
  AgreeOnErrors(comm, "choosing algorithms",
                [&] { algorithms.emplace(config, deterministic, comm); });
  const auto by_host = [&](const std::string& why_not_device) {
    return std::make_unique<HostTransport>(std::move(*algorithms), device, comm, why_not_device);
  };
  const bool demanded = transport == "nccl";
  if (device == nullptr || device->shares_host_memory()) {
    if (demanded) {
      throw AgreedError(StrCat("comm.device_transport: nccl is for GPUs, the device is \"",
                               device == nullptr ? "cpu" : device->name(),
                               "\"; set comm.device_transport: auto, or device: \"cuda\""));
    }
    return by_host("");
  }
  if (transport == "host" || comm->size() == 1) return by_host("");
  const std::string obstacle = Obstacle(config, *device, comm);
  if (obstacle.empty()) {
    const std::string algorithm = config.algorithm() == "auto" ? "" : config.algorithm();
    return GradientTransportRegistry::Get().Create("device", device->name(), device, comm,
                                                   algorithm);
  }
  if (demanded) {
    throw AgreedError(StrCat("comm.device_transport: nccl cannot be used: ", obstacle,
                             "; change that, or set comm.device_transport: auto or host"));
  }
  return by_host(obstacle);
}

}  // namespace gf
