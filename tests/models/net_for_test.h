#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/error.h"
#include "models/net.h"

namespace gf {

// The processor, made once.
Device* TestDevice();

// Options of a net in FP32 on its own parameters.
NetOptions TestOptions(Phase phase = TRAIN);

// FP32, and BF16 where this processor computes in it; says so where it does not.
std::vector<DType> ComputeTypes();

std::unique_ptr<Net> NewNet(const NetSource& source, const NetOptions& options);
std::unique_ptr<Net> NewNet(const std::string& text, const NetOptions& options = TestOptions());

// A shipped network for a batch of `batch` images, of `side` x `side` pixels unless 0, without
// dropout.
NetSource ShippedNet(const std::string& name, int64_t batch, int64_t side = 0);

// Normal FP32 pixels and labels below `classes`, the same for the same seed.
Batch RandomBatch(const Shape& images, int64_t classes, uint64_t seed = 7);

// Parameters and statistics that differ from value to value: weights of variance 1 / inputs, gammas
// near `gamma` (0.1 where the name contains `last_norm`), biases near `bias` and betas near 1.
// Biases that shift ReLUs away from 0 make gradients comparable between programs (see
// tests/golden/torch_reference.py).
struct RandomParameters {
  uint64_t seed = 3;
  float bias = 0, gamma = 0.35f;
  std::string last_norm;
};
void SetRandom(const RandomParameters& how, ParameterStore* store);

// Plain values by name.
using Values = std::map<std::string, std::vector<float>>;
Values Parameters(const Net& net);
Values Gradients(const Net& net);
Values States(const Net& net);

// Copies all parameters and states, whatever the layouts and whichever are frozen.
void CopyParameters(const Net& from, Net* to);

// |a - b| / (|b| + floor) over all values.
double RelativeError(const std::vector<float>& a, const std::vector<float>& b, double floor = 0);
// |all values|
double Norm(const Values& values);

// What `body` throws as UserError; "(no error)" if nothing.
std::string ErrorOf(const std::function<void()>& body);

}  // namespace gf
