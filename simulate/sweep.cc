#include "simulate/sweep.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "core/error.h"
#include "simulate/cluster.h"

namespace gf {
namespace {

constexpr char kForm[] =
    "expected NAME=A,B,C or NAME=A..B (doubling), for example ranks=1..4096 or "
    "\"ranks=1..512 comm.mode=LAZY,SPARSE\"";
constexpr size_t kMostValues = 64;

bool ToNumber(const std::string& text, double* value) {
  char* end = nullptr;
  *value = std::strtod(text.c_str(), &end);
  if (text.empty() || end == text.c_str()) return false;
  const std::string unit = end;
  if (unit.empty()) return *value >= 0 && *value < 1e15;
  const size_t power = std::string("KMG").find(unit);
  if (unit.size() != 1 || power == std::string::npos) return false;
  for (size_t i = 0; i <= power; ++i) *value *= 1024;
  return *value >= 0 && *value < 1e15;
}

std::string ToText(double value) {
  std::ostringstream out;
  out.precision(15);
  out << value;
  return out.str();
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> words;
  std::stringstream in(text);
  for (std::string word; std::getline(in, word, separator);) words.push_back(word);
  return words;
}

SweepAxis ParseAxis(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    ThrowUserError("--sweep=", text, ": ", kForm);
  }
  static const std::map<std::string, std::string> short_names = {{"ranks", ""},
                                                                 {"theta", "theta"},
                                                                 {"density", "comm.sparse.density"},
                                                                 {"algorithm", "comm.algorithm"},
                                                                 {"mode", "comm.mode"}};
  SweepAxis axis;
  axis.name = text.substr(0, equals);
  const auto found = short_names.find(axis.name);
  axis.field = found == short_names.end() ? axis.name : found->second;
  const std::string list = text.substr(equals + 1);
  const size_t dots = list.find("..");
  axis.numbers = true;
  if (dots != std::string::npos) {
    double first = 0, last = 0;
    if (!ToNumber(list.substr(0, dots), &first) || !ToNumber(list.substr(dots + 2), &last) ||
        first <= 0 || last < first) {
      ThrowUserError("--sweep: \"", list, "\" is not a range of numbers: ", kForm);
    }
    for (double value = first; value < last; value *= 2) axis.values.push_back(ToText(value));
    axis.values.push_back(ToText(last));
  } else {
    for (const std::string& word : Split(list, ',')) {
      double number = 0;
      const bool is_number = ToNumber(word, &number);
      axis.numbers = axis.numbers && is_number;
      if (word.empty()) ThrowUserError("--sweep=", text, ": a value is empty: ", kForm);
      axis.values.push_back(is_number ? ToText(number) : word);
    }
  }
  if (axis.values.size() > kMostValues) {
    ThrowUserError("--sweep=", text, ": ", axis.values.size(), " values, expected at most ",
                   kMostValues);
  }
  if (!axis.field.empty()) return axis;
  for (const std::string& value : axis.values) {
    const double ranks = std::atof(value.c_str());
    if (axis.numbers && ranks >= 1 && ranks <= kMostRanks && ranks == static_cast<int>(ranks)) {
      continue;
    }
    ThrowUserError("--sweep=", text, ": ", value, " is not a number of ranks, expected 1 to ",
                   kMostRanks);
  }
  return axis;
}

void Apply(const SweepAxis& axis, const std::string& value, SimulatedJob* job) {
  if (axis.field.empty()) {
    job->ranks = std::atoi(value.c_str());
  } else if (axis.field == "theta") {
    SetField("comm.threshold_first=" + value, &job->config);
    SetField("comm.threshold_middle=" + value, &job->config);
  } else {
    SetField(axis.field + "=" + value, &job->config);
  }
}

}  // namespace

std::vector<SweepAxis> ParseSweep(const std::string& text) {
  std::vector<SweepAxis> axes;
  for (const std::string& word : Split(text, ' ')) {
    if (!word.empty()) axes.push_back(ParseAxis(word));
  }
  if (axes.empty() || axes.size() > 2) {
    ThrowUserError("--sweep=\"", text, "\": expected one or two axes; ", kForm);
  }
  return axes;
}

std::vector<SweepPoint> RunSweep(const SimulatedJob& job, const std::vector<SweepAxis>& axes) {
  std::vector<SweepPoint> points;
  const std::vector<std::string> none = {""};
  const bool two = axes.size() > 1;
  for (const std::string& series : two ? axes[1].values : none) {
    for (const std::string& x : axes[0].values) {
      SimulatedJob changed = job;
      if (two) Apply(axes[1], series, &changed);
      Apply(axes[0], x, &changed);
      points.push_back({x, series, Simulator(changed).Run()});
    }
  }
  return points;
}

std::string SweepCsv(const std::vector<SweepAxis>& axes, const std::vector<SweepPoint>& points) {
  std::ostringstream csv;
  csv.precision(9);
  for (const SweepAxis& axis : axes) csv << axis.name << ",";
  csv << "ranks_total,step_s,forward_s,backward_s,exposed_s,update_s,data_s,images_per_s,speedup,"
         "efficiency,training_s,sent_bytes,device_link_bytes,switch_link_bytes,nic_bytes,"
         "uplink_bytes,layer_times\n";
  for (const SweepPoint& point : points) {
    const RunResult& run = point.run;
    csv << point.x << ",";
    if (axes.size() > 1) csv << point.series << ",";
    csv << run.ranks << "," << run.step.total() << "," << run.step.forward << ","
        << run.step.backward << "," << run.step.exposed << "," << run.step.update << ","
        << run.step.data << "," << run.images_per_s << "," << run.speedup() << ","
        << run.efficiency() << "," << run.training() << "," << run.sent_bytes;
    for (int kind = 0; kind < kLinkKinds - 1; ++kind) csv << "," << run.traffic[kind];
    csv << "," << run.layer_times << "\n";
  }
  return csv.str();
}

}  // namespace gf
