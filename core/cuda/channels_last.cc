#include "core/cuda/channels_last.h"

#include <glog/logging.h>

#include <memory>

namespace gf {
namespace {

Layout Make(const char* name, int64_t outer, int64_t channels, int64_t spatial) {
  if (channels == 1 || spatial == 1) return Layout();
  return Layout(std::make_shared<ChannelsLast>(name, outer, channels, spatial));
}

}  // namespace

bool ChannelsLast::Equals(const DeviceLayout& other) const {
  const auto* o = dynamic_cast<const ChannelsLast*>(&other);
  return o != nullptr && o->outer_ == outer_ && o->channels_ == channels_ &&
         o->spatial_ == spatial_;
}

Layout ImageLayout(int64_t outer, int64_t channels, int64_t spatial) {
  return Make("nhwc", outer, channels, spatial);
}

Layout FilterLayout(int64_t outer, int64_t channels, int64_t spatial) {
  return Make("krsc", outer, channels, spatial);
}

Layout ImageLayout(const Shape& shape) {
  return ImageLayout(shape[0], shape[1], shape.count(2, shape.rank()));
}

Layout FilterLayout(const Shape& shape) {
  return FilterLayout(shape[0], shape[1], shape.count(2, shape.rank()));
}

const ChannelsLast* AsChannelsLast(const Layout& layout) {
  if (layout.plain()) return nullptr;
  const auto* result = dynamic_cast<const ChannelsLast*>(layout.device());
  CHECK(result != nullptr) << "a layout of another device: " << layout.Name();
  return result;
}

}  // namespace gf
