#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

namespace gf {

// Ends the program: two classes have the same name.
[[noreturn]] void DieOfDuplicate(const std::string& name);

// Maps names to factories of Base. There is one registry per (Base, Args...). Static objects
// (GF_REGISTER) add entries, so their libraries must set alwayslink.
template <typename Base, typename... Args>
class Registry {
 public:
  using Factory = std::function<std::unique_ptr<Base>(Args...)>;

  static Registry& Get() {
    static Registry* registry = new Registry;
    return *registry;
  }

  bool Add(const std::string& name, Factory factory) {
    if (!factories_.emplace(name, std::move(factory)).second) DieOfDuplicate(name);
    return true;
  }

  // Adds a class by its constructor (Args...).
  template <typename Derived>
  bool Add(const std::string& name) {
    return Add(name, [](Args... args) -> std::unique_ptr<Base> {
      return std::make_unique<Derived>(std::forward<Args>(args)...);
    });
  }

  bool Has(const std::string& name) const { return factories_.count(name) != 0; }

  // Creates an object. Throws UserError "unknown <what> "<name>" (known: ...)".
  std::unique_ptr<Base> Create(const std::string& what, const std::string& name,
                               Args... args) const {
    const auto it = factories_.find(name);
    if (it == factories_.end()) {
      ThrowUserError("unknown ", what, " \"", name, "\" (known: ", Names(), ")");
    }
    return it->second(std::forward<Args>(args)...);
  }

  std::vector<std::string> Keys() const {
    std::vector<std::string> keys;
    for (const auto& entry : factories_) keys.push_back(entry.first);
    return keys;
  }

  // "A, B, C"
  std::string Names() const {
    std::string names;
    for (const auto& entry : factories_) names += (names.empty() ? "" : ", ") + entry.first;
    return names;
  }

 private:
  std::map<std::string, Factory> factories_;
};

}  // namespace gf

#define GF_CONCAT_INNER(a, b) a##b
#define GF_CONCAT(a, b) GF_CONCAT_INNER(a, b)

// Adds a class to a registry when the program starts:
//   GF_REGISTER(LayerRegistry, "Convolution", ConvolutionLayer);
#define GF_REGISTER(registry, name, ...) \
  static const bool GF_CONCAT(registered_, __LINE__) = registry::Get().Add<__VA_ARGS__>(name)
