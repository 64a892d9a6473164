#include "comm/wire/wire_kernels.h"

#include "comm/wire/wire_vector.h"

namespace gf {
namespace {

template <class Own, class Wire>
void Encode(void* own_memory, void* wire_memory, int64_t count) {
  auto* own = static_cast<typename Own::T*>(own_memory);
  auto* wire = static_cast<typename Wire::T*>(wire_memory);
  int64_t i = 0;
  for (; i + kNativeLanes <= count; i += kNativeLanes) {
    StoreVec(Wire(), wire + i, LoadVec(Own(), own + i));
    StoreVec(Own(), own + i, LoadVec(Wire(), wire + i));
  }
  if (i < count) {
    StorePart(Wire(), wire + i, LoadPart(Own(), own + i, count - i), count - i);
    StorePart(Own(), own + i, LoadPart(Wire(), wire + i, count - i), count - i);
  }
}

template <class Own, class Wire>
void Decode(const void* wire_memory, void* own_memory, int64_t count) {
  const auto* wire = static_cast<const typename Wire::T*>(wire_memory);
  auto* own = static_cast<typename Own::T*>(own_memory);
  int64_t i = 0;
  for (; i + kNativeLanes <= count; i += kNativeLanes) {
    StoreVec(Own(), own + i, LoadVec(Wire(), wire + i));
  }
  if (i < count) StorePart(Own(), own + i, LoadPart(Wire(), wire + i, count - i), count - i);
}

template <class Own, class Wire>
void Add(const void* wire_memory, void* own_memory, int64_t count) {
  const auto* wire = static_cast<const typename Wire::T*>(wire_memory);
  auto* own = static_cast<typename Own::T*>(own_memory);
  int64_t i = 0;
  for (; i + kNativeLanes <= count; i += kNativeLanes) {
    StoreVec(Own(), own + i, LoadVec(Own(), own + i) + LoadVec(Wire(), wire + i));
  }
  if (i < count) {
    const NativeVec sum =
        LoadPart(Own(), own + i, count - i) + LoadPart(Wire(), wire + i, count - i);
    StorePart(Own(), own + i, sum, count - i);
  }
}

template <class T>
void EncodeSame(void* own, void* wire, int64_t count) {
  __builtin_memcpy(wire, own, count * sizeof(T));
}

template <class T>
void DecodeSame(const void* wire, void* own, int64_t count) {
  __builtin_memcpy(own, wire, count * sizeof(T));
}

template <class Own, class Wire>
constexpr WireFunctions kFunctions = {&Encode<Own, Wire>, &Decode<Own, Wire>, &Add<Own, Wire>};

template <class Type>
constexpr WireFunctions kSame = {&EncodeSame<typename Type::T>, &DecodeSame<typename Type::T>,
                                 &Add<Type, Type>};

}  // namespace

GF_SIMD_DEFINE(WireKernels, Wires) = {
    kSame<AsFP32>,
    kFunctions<AsFP32, AsBF16>,
    kFunctions<AsFP32, AsFP16>,
    kFunctions<AsBF16, AsFP32>,
    kSame<AsBF16>,
    kFunctions<AsBF16, AsFP16>,
};

}  // namespace gf
