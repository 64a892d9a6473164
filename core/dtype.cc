#include "core/dtype.h"

#include <glog/logging.h>

namespace gf {

size_t SizeOf(DType type) {
  switch (type) {
    case DType::kFP32:
      return 4;
    case DType::kFP16:
    case DType::kBF16:
      return 2;
    case DType::kUINT8:
      return 1;
    case DType::kINT64:
      return 8;
  }
  LOG(FATAL) << "unknown DType " << static_cast<int>(type);
  return 0;
}

const char* Name(DType type) {
  switch (type) {
    case DType::kFP32:
      return "FP32";
    case DType::kFP16:
      return "FP16";
    case DType::kBF16:
      return "BF16";
    case DType::kUINT8:
      return "UINT8";
    case DType::kINT64:
      return "INT64";
  }
  return "?";
}

}  // namespace gf
