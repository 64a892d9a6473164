#pragma once

namespace gf {

// The version of the programs and of the library for predictions.
constexpr char kVersion[] = "0.1.0";

}  // namespace gf
