// Replaces the CUDA device in programs that are built without CUDA.

#include <memory>

#include "core/device.h"
#include "core/error.h"

namespace gf {
namespace {

const bool registered = DeviceRegistry::Get().Add("cuda", [](int) -> std::unique_ptr<Device> {
  ThrowUserError(
      "device \"cuda\": this program was built without CUDA; build it with bazel build "
      "--config=cuda, or choose device \"cpu\" (of a job: --set device=cpu)");
});

}  // namespace
}  // namespace gf
