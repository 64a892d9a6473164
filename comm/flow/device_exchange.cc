#include "comm/flow/device_exchange.h"

#include <map>
#include <vector>

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

// What keeps this job from exchanges between devices, "" if nothing does. The same on all ranks.
std::string Obstacle(const CommConfig& config, const Device& device, Communicator* comm) {
  if (!DeviceExchangeRegistry::Get().Has(device.name())) {
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

ExchangeChoice ChooseExchange(const CommConfig& config, Device* device, Communicator* comm) {
  CheckJobFields(config, "comm");
  const std::string& transport = config.device_transport();
  const bool demanded = transport == "nccl";
  if (device == nullptr || device->shares_host_memory()) {
    if (demanded) {
      ThrowUserError("comm.device_transport: nccl is for GPUs, the device is \"",
                     device == nullptr ? "cpu" : device->name(),
                     "\"; set comm.device_transport: auto, or device: \"cuda\"");
    }
    return {};
  }
  if (transport == "host" || comm->size() == 1) return {};
  const std::string obstacle = Obstacle(config, *device, comm);
  if (obstacle.empty()) {
    return {DeviceExchangeRegistry::Get().Create("device", device->name(), device, comm), ""};
  }
  if (demanded) {
    ThrowUserError("comm.device_transport: nccl cannot be used: ", obstacle,
                   "; change that, or set comm.device_transport: auto or host");
  }
  return {nullptr, obstacle};
}

}  // namespace gf
