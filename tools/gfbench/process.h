#pragma once

namespace gf {

// Seconds since this process was started.
double SecondsSinceStart();

// The most memory that this process has held, in bytes.
double PeakBytes();

}  // namespace gf
