#pragma once

#include <cstdint>
#include <memory>

#include "core/dtype.h"
#include "core/layout.h"
#include "core/shape.h"

namespace gf {

// Description of a tensor, without its memory.
struct TensorDesc {
  Shape shape;
  DType dtype = DType::kFP32;
  Layout layout;

  int64_t storage_count() const { return layout.StorageCount(shape); }
  size_t bytes() const { return storage_count() * SizeOf(dtype); }
};

// A tensor: a description and its memory. `data` may point into memory that belongs to another
// object (an arena, a pool); `owner`, if set, keeps the memory alive.
struct Tensor {
  TensorDesc desc;
  void* data = nullptr;
  std::shared_ptr<void> owner;

  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

}  // namespace gf
