#include "models/filler.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/config/nearest.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/random.h"
#include "core/random_words.h"

namespace gf {
namespace {

// FNV-1a. The random stream of a parameter depends only on its name, not on its place in the net.
uint64_t HashName(const std::string& name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char c : name) hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

// Number of inputs per output (FAN_IN), outputs per input (FAN_OUT), or their mean.
double Fan(const FillerParameter& filler, const Shape& shape) {
  const double fan_in = static_cast<double>(shape.count()) / shape[0];
  const double fan_out =
      shape.rank() > 1 ? static_cast<double>(shape.count()) / shape[1] : shape.count();
  switch (filler.variance_norm()) {
    case FillerParameter::FAN_IN:
      return fan_in;
    case FillerParameter::FAN_OUT:
      return fan_out;
    case FillerParameter::AVERAGE:
      return (fan_in + fan_out) / 2;
  }
  return fan_in;
}

// Products of the binomial coefficients of both axes, over their sum.
void FillBinomial(const Shape& shape, float* values) {
  const int64_t k = shape[3];
  std::vector<double> side = {1};
  for (int64_t i = 1; i < k; ++i) {
    side.push_back(side.back() * static_cast<double>(k - i) / static_cast<double>(i));
  }
  const double sum = std::exp2(static_cast<double>(k - 1));
  for (int64_t i = 0; i < shape.count(); ++i) {
    values[i] = static_cast<float>(side[i % k] / sum * (side[i / k % k] / sum));
  }
}

// Lets the first filters pass one input each on: 1 at the center, else 0.
void FillDirac(const Shape& shape, float* values) {
  const int64_t inputs = shape[1], place = shape.count(2, shape.rank());
  int64_t center = 0;
  for (int axis = 2; axis < shape.rank(); ++axis) center = center * shape[axis] + shape[axis] / 2;
  for (int64_t i = 0; i < std::min(shape[0], inputs); ++i) {
    float* const filter = values + i * inputs * place;
    std::fill_n(filter, inputs * place, 0.f);
    filter[i * place + center] = 1;
  }
}

}  // namespace

std::string FillerMistake(const FillerParameter& filler, const Shape& shape) {
  static const std::vector<std::string> kTypes = {
      "bilinear", "binomial",          "constant", "dirac", "gaussian",
      "msra",     "positive_unitball", "uniform",  "xavier"};
  const std::string& type = filler.type();
  const std::pair<const char*, float> values[] = {
      {"value", filler.value()}, {"min", filler.min()},
      {"max", filler.max()},     {"max - min", filler.max() - filler.min()},
      {"mean", filler.mean()},   {"std", filler.std()}};
  for (const auto& [field, value] : values) {
    if (!std::isfinite(value)) {
      return StrCat(field, " of the filler is ", value, ", must be a finite number");
    }
  }
  if (std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end()) {
    return StrCat("unknown filler type \"", type, "\"", Suggestion(type, kTypes));
  }
  if (type == "gaussian") {
    if (!(filler.std() >= 0)) {
      return StrCat("std of the gaussian filler is ", filler.std(), ", must be at least 0");
    }
  }
  const bool square = shape.rank() == 4 && shape[2] == shape[3];
  if ((type == "bilinear" || type == "binomial") && !square) {
    return StrCat("a ", type, " filler needs square filters, got ", shape.ToString());
  }
  if (type == "dirac" && shape.rank() < 3) {
    return "a dirac filler needs the weights of a convolution, got " + shape.ToString();
  }
  return "";
}

void Fill(const FillerParameter& filler, const Shape& shape, uint64_t seed, const std::string& name,
          float* values) {
  const std::string mistake = FillerMistake(filler, shape);
  if (!mistake.empty()) ThrowUserError(name, ": ", mistake);
  // Calls body(words, count, out) for chunks of the values. out[i] must be computed from words[i],
  // the word for that value in the random stream of this name; two more words than `count` are
  // available.
  const auto draw = [&](const std::string& stream_name, const auto& body) {
    const uint64_t stream = StreamId(RandomUse::kInit, HashName(stream_name));
    constexpr int64_t kChunk = 1024;
    ParallelFor(shape.count(), kChunk, [&](int64_t begin, int64_t end) {
      uint32_t words[kChunk + 4];
      for (int64_t at = begin; at < end; at += kChunk) {
        const int64_t count = std::min(end - at, kChunk);
        RandomWords().fill(seed, stream, at, count + 2, words);
        body(words, count, values + at);
      }
    });
  };
  const auto uniform = [&](float low, float high) {
    draw(name, [low, range = high - low](const uint32_t* words, int64_t count, float* out) {
      for (int64_t i = 0; i < count; ++i) out[i] = low + range * ToUniform(words[i]);
    });
  };
  // Box-Muller: two words give two normal numbers.
  const auto gaussian = [&](float mean, float std) {
    draw(name, [mean, std](const uint32_t* words, int64_t count, float* out) {
      for (int64_t i = 0; i < count; i += 2) {
        const float uniform = (static_cast<float>(words[i] >> 8) + 0.5f) * 0x1p-24f;
        const float radius = std * std::sqrt(-2 * std::log(uniform));
        const float angle = 6.28318531f * ToUniform(words[i + 1]);
        out[i] = mean + radius * std::cos(angle);
        if (i + 1 < count) out[i + 1] = mean + radius * std::sin(angle);
      }
    });
  };

  // Sets each value to 0 unless chance keeps it.
  const auto thin_out = [&](float kept) {
    draw(name + " sparse", [kept](const uint32_t* words, int64_t count, float* out) {
      for (int64_t i = 0; i < count; ++i) {
        if (ToUniform(words[i]) >= kept) out[i] = 0;
      }
    });
  };

  const std::string& type = filler.type();
  if (type == "constant") {
    std::fill_n(values, shape.count(), filler.value());
  } else if (type == "uniform") {
    uniform(filler.min(), filler.max());
  } else if (type == "gaussian") {
    gaussian(filler.mean(), filler.std());
    if (filler.sparse() >= 0) {
      thin_out(static_cast<float>(filler.sparse()) / static_cast<float>(shape[0]));
    }
  } else if (type == "xavier") {
    const float scale = static_cast<float>(std::sqrt(3.0 / Fan(filler, shape)));
    uniform(-scale, scale);
  } else if (type == "msra") {
    gaussian(0, static_cast<float>(std::sqrt(2.0 / Fan(filler, shape))));
  } else if (type == "positive_unitball") {
    uniform(0, 1);
    const int64_t rows = shape[0], columns = shape.count() / rows;
    for (int64_t i = 0; i < rows; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < columns; ++j) sum += values[i * columns + j];
      for (int64_t j = 0; j < columns; ++j) {
        values[i * columns + j] = static_cast<float>(values[i * columns + j] / sum);
      }
    }
  } else if (type == "bilinear") {
    const int64_t k = shape[3];
    const double f = std::ceil(k / 2.0), c = (k - 1) / (2.0 * f);
    for (int64_t i = 0; i < shape.count(); ++i) {
      const double x = i % k, y = i / k % k;
      values[i] = static_cast<float>((1 - std::fabs(x / f - c)) * (1 - std::fabs(y / f - c)));
    }
  } else if (type == "binomial") {
    FillBinomial(shape, values);
  } else if (type == "dirac") {
    if (filler.has_min() || filler.has_max()) {
      uniform(filler.min(), filler.max());
    } else {
      std::fill_n(values, shape.count(), 0.f);
    }
    FillDirac(shape, values);
  }
}

std::vector<float> Fill(const FillerParameter& filler, const Shape& shape, uint64_t seed,
                        const std::string& name) {
  std::vector<float> values(shape.count());
  Fill(filler, shape, seed, name, values.data());
  return values;
}

}  // namespace gf
