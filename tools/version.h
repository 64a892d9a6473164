#pragma once

#include <string>

namespace gf {

// "GradientFlow 0.1.0 (oneDNN 2.6.3, Open MPI v4.1.4 ...)"
std::string Version();

}  // namespace gf
