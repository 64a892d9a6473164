// In place of the CUDA device where the program is built without it.

#include <memory>

#include "core/device.h"
#include "core/error.h"

namespace gf {
namespace {

const bool registered = DeviceRegistry::Get().Add("cuda", [](int) -> std::unique_ptr<Device> {
  ThrowUserError(
      "device \"cuda\": this program was built without CUDA; build it with bazel build "
      "--config=cuda, or compute on the processor: --set device=cpu");
});

}  // namespace
}  // namespace gf
