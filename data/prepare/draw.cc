#include "data/prepare/draw.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/random.h"

namespace gf {
namespace {

constexpr float kPi = 3.14159265358979f;

float Square(float x) { return x * x; }

// Whether (x, y) lies in a regular polygon of this many corners on the unit circle.
bool InPolygon(float x, float y, int corners) {
  const float sector = 2 * kPi / corners;
  const float angle = std::atan2(y, x);
  const float within = angle - sector * std::round(angle / sector);
  return std::hypot(x, y) * std::cos(within) <= std::cos(sector / 2);
}

// The shapes, within the unit circle.
using Shape = bool (*)(float x, float y);
struct NamedShape {
  const char* name;
  Shape inside;
};

const std::array<NamedShape, 10> kShapes = {{
    {"disc", [](float x, float y) { return Square(x) + Square(y) < Square(0.85f); }},
    {"ring",
     [](float x, float y) {
       const float r = std::hypot(x, y);
       return r < 0.95f && r > 0.55f;
     }},
    {"square", [](float x, float y) { return std::max(std::abs(x), std::abs(y)) < 0.72f; }},
    {"frame",
     [](float x, float y) {
       const float r = std::max(std::abs(x), std::abs(y));
       return r < 0.8f && r > 0.45f;
     }},
    {"triangle", [](float x, float y) { return InPolygon(x, y, 3); }},
    {"star",
     [](float x, float y) {
       // The outline's radius goes from 1 at the five points to 0.4 between them.
       const float sector = 2 * kPi / 5, angle = std::atan2(y, x);
       const float within = std::abs(angle - sector * std::round(angle / sector)) / (sector / 2);
       const float s = within * std::sin(sector / 2) * 0.4f;
       const float c = 1 - within * (1 - 0.4f * std::cos(sector / 2));
       return std::hypot(x, y) < std::hypot(s, c);
     }},
    {"cross",
     [](float x, float y) {
       const float a = std::abs(x), b = std::abs(y);
       return std::min(a, b) < 0.26f && std::max(a, b) < 0.92f;
     }},
    {"bar", [](float x, float y) { return std::abs(x) < 1 && std::abs(y) < 0.25f; }},
    {"crescent",
     [](float x, float y) {
       return Square(x) + Square(y) < 0.9f && Square(x - 0.5f) + Square(y) > Square(0.75f);
     }},
    {"pair",
     [](float x, float y) { return Square(std::abs(x) - 0.58f) + Square(y) < Square(0.42f); }},
}};

struct Line {
  float x, y, dx, dy, half_width;
  std::array<float, 3> colour;
};

// Everything random about an image but the noise.
struct Scene {
  int label;
  float x, y, radius, cosine, sine;
  std::array<float, 3> front, back;
  std::array<Line, 2> lines;
};

Scene MakeScene(Random* random, int size) {
  Scene scene;
  scene.label = static_cast<int>(random->Below(kShapes.size()));
  scene.radius = size * (0.24f + 0.16f * random->Uniform());
  const float room = size - 2 * scene.radius;
  scene.x = scene.radius + room * random->Uniform();
  scene.y = scene.radius + room * random->Uniform();
  const float angle = 2 * kPi * random->Uniform();
  scene.cosine = std::cos(angle);
  scene.sine = std::sin(angle);
  const bool light_on_dark = random->Next() & 1;
  for (int c = 0; c < 3; ++c) {
    const float dark = 10 + 90 * random->Uniform(), light = 155 + 90 * random->Uniform();
    scene.front[c] = light_on_dark ? light : dark;
    scene.back[c] = light_on_dark ? dark : light;
  }
  for (Line& line : scene.lines) {
    const float direction = 2 * kPi * random->Uniform();
    line.x = size * random->Uniform();
    line.y = size * random->Uniform();
    line.dx = std::cos(direction);
    line.dy = std::sin(direction);
    line.half_width = size * 0.015f;
    for (float& value : line.colour) value = 255 * random->Uniform();
  }
  return scene;
}

// The color at a point, in pixels from the upper left corner.
const std::array<float, 3>& ColourAt(const Scene& scene, float x, float y) {
  const float right = (x - scene.x) / scene.radius, down = (y - scene.y) / scene.radius;
  if (kShapes[scene.label].inside(scene.cosine * right + scene.sine * down,
                                  scene.cosine * down - scene.sine * right)) {
    return scene.front;
  }
  // Lines lie behind the shape.
  for (const Line& line : scene.lines) {
    if (std::abs((x - line.x) * line.dy - (y - line.y) * line.dx) < line.half_width) {
      return line.colour;
    }
  }
  return scene.back;
}

}  // namespace

const std::vector<std::string>& ShapeNames() {
  static const auto* names = [] {
    auto* result = new std::vector<std::string>;
    for (const NamedShape& shape : kShapes) result->push_back(shape.name);
    return result;
  }();
  return *names;
}

int DrawImage(uint64_t seed, int64_t index, int size, uint8_t* pixels) {
  constexpr int kSamples = 3;  // per axis and pixel, against jagged edges
  constexpr float kNoise = 12;
  Random random(seed, StreamId(RandomUse::kDraw, index));
  const Scene scene = MakeScene(&random, size);
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x) {
      std::array<float, 3> sum = {};
      for (int i = 0; i < kSamples * kSamples; ++i) {
        const auto& colour = ColourAt(scene, x + (i % kSamples + 0.5f) / kSamples,
                                      y + (i / kSamples + 0.5f) / kSamples);
        for (int c = 0; c < 3; ++c) sum[c] += colour[c];
      }
      for (int c = 0; c < 3; ++c) {
        const float value = sum[c] / (kSamples * kSamples) + kNoise * random.Gaussian();
        *pixels++ = static_cast<uint8_t>(std::clamp(value + 0.5f, 0.f, 255.f));
      }
    }
  }
  return scene.label;
}

}  // namespace gf
