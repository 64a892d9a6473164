#pragma once

#include <string>
#include <vector>

#include "simulate/job_run.h"

namespace gf {

// A variable of a sweep.
struct SweepAxis {
  enum class Kind {
    kRanks,
    kTheta,  // threshold_first and threshold_middle together
    kLink,   // bandwidth of one kind of link of the cluster
    kField,  // a field of the job's config
  };
  std::string name;  // as the user wrote it
  Kind kind = Kind::kField;
  std::string field;                // kField: "comm.mode"; kLink: "node.nic"
  std::vector<std::string> values;  // none is empty
  bool numbers = false;             // whether all values are numbers
};

// Parses axes: "ranks=1..4096 comm.mode=LAZY,SPARSE". A..B doubles from A to B; the suffixes K, M
// and G (for theta) are powers of 1024. A field of the config may be named by the end of its path
// if no other field ends like it. Links (nic, device_link, switch_link, uplink) take 25gbit,
// 800mbit or 3.1gb_s. Throws UserError.
std::vector<SweepAxis> ParseSweep(const std::string& text);

// Gives the job one of the axis' values. Throws UserError.
void ApplyValue(const SweepAxis& axis, const std::string& value, SimulatedJob* job);

// Whether the values are numbers of bytes, which people read in powers of two.
bool HoldsBytes(const SweepAxis& axis);

}  // namespace gf
