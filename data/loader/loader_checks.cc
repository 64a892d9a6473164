#include "data/loader/loader_checks.h"

#include <cstdint>
#include <utility>

#include "core/error.h"
#include "data/loader/workers.h"

namespace gf {
namespace {

void CheckDeviceCache(const DataConfig& config, bool training) {
  constexpr int64_t kMost = int64_t{1} << 24;
  if (config.device_cache_mib() == 0) return;
  if (config.device_cache_mib() < 0 || config.device_cache_mib() > kMost) {
    ThrowUserError("device_cache_mib: ", config.device_cache_mib(), ", expected 0 to ", kMost);
  }
  if (!training) {
    ThrowUserError("device_cache_mib: ", config.device_cache_mib(),
                   " is of use in training only; expected 0 here");
  }
  const std::pair<const char*, bool> others[] = {
      {"random_resized_crop", config.random_resized_crop()},
      {"brightness", config.brightness() > 0},
      {"contrast", config.contrast() > 0},
      {"saturation", config.saturation() > 0},
      {"lighting", config.lighting() > 0}};
  for (const auto& [field, is_set] : others) {
    if (!is_set) continue;
    ThrowUserError(
        "device_cache_mib does not go with ", field,
        ": images that stay on the device are only cropped and mirrored there; leave one "
        "of them out, or use cache_mib");
  }
}

}  // namespace

void CheckLoaderConfig(const DataConfig& config, bool training) {
  const auto check = [](const char* field, int value, int low, int high) {
    if (value < low || value > high) {
      ThrowUserError(field, ": ", value, ", expected ", low, " to ", high);
    }
  };
  check("batch_size", config.batch_size(), 1, 1 << 24);
  check("workers", config.workers(), 0, kMaxWorkers);
  check("prefetch", config.prefetch(), 1, 1024);
  if (config.shuffle_window() < 0) {
    ThrowUserError("shuffle_window: ", config.shuffle_window(), ", expected 0 or more");
  }
  if (!(config.exchange() >= 0 && config.exchange() <= 1)) {
    ThrowUserError("exchange: ", config.exchange(), ", expected 0 to 1");
  }
  if (config.exchange() < 1 && config.shuffle_window() > 0) {
    ThrowUserError("exchange does not go with shuffle_window: leave one of them out");
  }
  for (const auto& field :
       {std::make_pair("mean", config.mean()), std::make_pair("std", config.std())}) {
    const int count = field.second.size();
    if (count > 1 && count != config.channels()) {
      ThrowUserError(field.first, ": ", count, " values, expected none, 1 or one for each of the ",
                     config.channels(), " channels");
    }
  }
  for (const float std : config.std()) {
    if (!(std > 0)) ThrowUserError("std: ", std, ", expected more than 0");
  }
  CheckDeviceCache(config, training);
}

}  // namespace gf
