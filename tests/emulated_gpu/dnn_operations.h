#pragma once

#include <cudnn.h>
#include <glog/logging.h>

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace gf::emulated {

struct Descriptor;
using Shared = std::shared_ptr<Descriptor>;

// Has a share in those that it was given: their handles may be destroyed before it.
struct Descriptor {
  cudnnBackendDescriptorType_t type;
  std::map<cudnnBackendAttributeName_t, std::vector<char>> attributes;
  std::map<cudnnBackendAttributeName_t, std::vector<Shared>> others;
  bool finalized = false;
  int64_t engine = 0;  // its number, for engines and their configurations

  bool Has(cudnnBackendAttributeName_t name) const { return attributes.count(name) > 0; }

  template <typename T>
  std::vector<T> All(cudnnBackendAttributeName_t name) const {
    const auto found = attributes.find(name);
    if (found == attributes.end()) return {};
    std::vector<T> values(found->second.size() / sizeof(T));
    std::memcpy(values.data(), found->second.data(), values.size() * sizeof(T));
    return values;
  }
  template <typename T>
  T One(cudnnBackendAttributeName_t name) const {
    const std::vector<T> all = All<T>(name);
    CHECK_EQ(all.size(), 1u) << name;
    return all[0];
  }
  const Descriptor& Other(cudnnBackendAttributeName_t name) const {
    CHECK_EQ(others.at(name).size(), 1u) << name;
    return *others.at(name)[0];
  }
};

// Where the operations of a graph find their tensors: memory by id, and what is virtual.
class DnnMemory;

// One operation of a graph: a convolution in two dimensions, forward or backward, or a pointwise
// addition or ReLU, or sums per channel.
class DnnOperation {
 public:
  virtual ~DnnOperation() = default;
  // Whether the shapes of its tensors belong together.
  virtual bool Fits() const { return true; }
  // Of convolutions: whether the images are FP16 or BF16, and whether there are several groups.
  virtual bool OfHalves() const { return false; }
  virtual bool Grouped() const { return false; }
  virtual void Do(DnnMemory* memory) const = 0;
};

// Null for a descriptor that is no operation.
std::unique_ptr<DnnOperation> NewOperation(const Descriptor& d);

// The memory of tensors by their numbers, from a variant pack.
std::map<int64_t, void*> DataOf(const Descriptor& pack);

// Does operations one after the other; `pack` names the memory of their tensors. The last ninth
// of the results is multiplied by `last_ninth`, or not written if that is nothing.
void DoOperations(const std::vector<std::shared_ptr<DnnOperation>>& operations,
                  const Descriptor& pack, std::optional<float> last_ninth);

}  // namespace gf::emulated
