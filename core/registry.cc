#include "core/registry.h"

#include <glog/logging.h>

namespace gf {

void DieOfDuplicate(const std::string& name) { LOG(FATAL) << name << " is registered twice"; }

}  // namespace gf
