#include "simulate/sweep_axes.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <sstream>

#include "core/config/nearest.h"
#include "core/error.h"
#include "simulate/cluster.h"

namespace gf {
namespace {

constexpr char kForm[] =
    "expected NAME=A,B,C or NAME=A..B (doubling), for example ranks=1..4096 or "
    "\"ranks=1..512 mode=LAZY,SPARSE\"";
constexpr size_t kMostValues = 64, kMostAxes = 4;
constexpr double kLeastLink = 1e-4, kMostLink = 1e6;  // GB/s, as in cluster files

using Kind = SweepAxis::Kind;

struct ShortName {
  Kind kind;
  std::string field;
};

// Names that are not the end of one field's path, or that stand for several things.
const std::map<std::string, ShortName>& ShortNames() {
  static const std::map<std::string, ShortName> names = {
      {"ranks", {Kind::kRanks, ""}},
      {"theta", {Kind::kTheta, ""}},
      {"threshold", {Kind::kTheta, ""}},
      {"batch_size", {Kind::kField, "train_data.batch_size"}},
      {"nic", {Kind::kLink, "node.nic"}},
      {"device_link", {Kind::kLink, "node.device_link"}},
      {"switch_link", {Kind::kLink, "node.switch_link"}},
      {"uplink", {Kind::kLink, "fabric.uplink"}},
  };
  return names;
}

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

// The paths of all fields that hold one value.
void AddPaths(const google::protobuf::Descriptor* type, const std::string& path,
              std::vector<std::string>* paths) {
  for (int i = 0; i < type->field_count(); ++i) {
    const auto* const field = type->field(i);
    if (field->is_repeated()) continue;
    if (field->message_type() == nullptr) {
      paths->push_back(PathOf(path, field->name()));
    } else {
      AddPaths(field->message_type(), PathOf(path, field->name()), paths);
    }
  }
}

bool EndsWith(const std::string& path, const std::string& name) {
  return path == name ||
         (path.size() > name.size() &&
          path.compare(path.size() - name.size() - 1, std::string::npos, "." + name) == 0);
}

void Resolve(SweepAxis* axis) {
  const auto found = ShortNames().find(axis->name);
  if (found != ShortNames().end()) {
    axis->kind = found->second.kind;
    axis->field = found->second.field;
    return;
  }
  axis->field = axis->name;
  if (axis->name.find('[') != std::string::npos) return;  // an element; SetField checks it
  std::vector<std::string> paths, fitting, names;
  AddPaths(JobConfig::descriptor(), "", &paths);
  for (const std::string& path : paths) {
    if (path == axis->name) return;
    if (EndsWith(path, axis->name)) fitting.push_back(path);
    names.push_back(path);
    names.push_back(path.substr(path.rfind('.') + 1));
  }
  if (fitting.size() == 1) {
    axis->field = fitting[0];
    return;
  }
  if (fitting.size() > 1) {
    ThrowUserError("--sweep: \"", axis->name, "\" may be ", Join(fitting),
                   ": write the whole name of one of them");
  }
  for (const auto& entry : ShortNames()) names.push_back(entry.first);
  const std::string nearest = Nearest(axis->name, names);
  ThrowUserError(
      "--sweep: neither a field of the job nor a short name: \"", axis->name, "\"",
      nearest.empty() ? "; see the end of --help" : StrCat("; did you mean \"", nearest, "\"?"));
}

// "25gbit" in GB/s.
double LinkRate(const std::string& text) {
  static const std::map<std::string, double> units = {
      {"gbit", 1 / 8.0}, {"mbit", 1 / 8e3}, {"gb_s", 1.0}};
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  std::string unit = end;
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (unit.size() > 2 && unit.compare(unit.size() - 2, 2, "/s") == 0) {
    unit.resize(unit.size() - 2);
  }
  const auto found = units.find(unit);
  if (end == text.c_str() || found == units.end()) {
    ThrowUserError("--sweep: \"", text,
                   "\" is not the bandwidth of a link: write it with its unit, 25gbit, 800mbit or "
                   "3.1gb_s (GB/s, as in cluster files)");
  }
  const double rate = value * found->second;
  if (!(rate >= kLeastLink && rate <= kMostLink)) {
    ThrowUserError("--sweep: \"", text, "\" is out of range, must be from ", kLeastLink, " to ",
                   kMostLink, " gb_s");
  }
  return rate;
}

void ReadValues(const std::string& list, SweepAxis* axis) {
  const size_t dots = list.find("..");
  axis->numbers = true;
  if (dots != std::string::npos) {
    double first = 0, last = 0;
    if (!ToNumber(list.substr(0, dots), &first) || !ToNumber(list.substr(dots + 2), &last) ||
        first <= 0 || last < first) {
      ThrowUserError("--sweep: \"", list, "\" is not a range of numbers: ", kForm);
    }
    for (double value = first; value < last; value *= 2) axis->values.push_back(ToText(value));
    axis->values.push_back(ToText(last));
    return;
  }
  for (const std::string& word : Split(list, ',')) {
    double number = 0;
    const bool is_number = ToNumber(word, &number);
    axis->numbers = axis->numbers && is_number;
    if (word.empty()) ThrowUserError("--sweep=", axis->name, "=", list, ": a value is empty");
    axis->values.push_back(is_number ? ToText(number) : word);
  }
}

void CheckRanks(const SweepAxis& axis) {
  for (const std::string& value : axis.values) {
    const double ranks = std::atof(value.c_str());
    if (axis.numbers && ranks >= 1 && ranks <= kMostRanks && ranks == static_cast<int>(ranks)) {
      continue;
    }
    ThrowUserError("--sweep: ", value, " is not a number of ranks, expected 1 to ", kMostRanks);
  }
}

SweepAxis ParseAxis(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    ThrowUserError("--sweep=", text, ": ", kForm);
  }
  SweepAxis axis;
  axis.name = text.substr(0, equals);
  Resolve(&axis);
  ReadValues(text.substr(equals + 1), &axis);
  if (axis.values.size() > kMostValues) {
    ThrowUserError("--sweep=", text, ": ", axis.values.size(), " values, expected at most ",
                   kMostValues);
  }
  if (axis.kind == Kind::kRanks) CheckRanks(axis);
  if (axis.kind == Kind::kLink) {
    for (const std::string& value : axis.values) LinkRate(value);
  }
  return axis;
}

// The link that `axis` varies, or null if the cluster has none.
LinkConfig* LinkOf(const SweepAxis& axis, ClusterConfig* cluster) {
  NodeConfig* const node = cluster->mutable_node();
  if (axis.field == "node.nic") return node->mutable_nic();
  if (axis.field == "node.device_link") return node->mutable_device_link();
  if (axis.field == "node.switch_link") {
    return node->has_switch_link() ? node->mutable_switch_link() : nullptr;
  }
  return cluster->fabric().has_uplink() ? cluster->mutable_fabric()->mutable_uplink() : nullptr;
}

void SetLink(const SweepAxis& axis, const std::string& value, ClusterConfig* cluster) {
  LinkConfig* const link = LinkOf(axis, cluster);
  if (link == nullptr) {
    ThrowUserError("--sweep: the cluster has no ", axis.field, " that ", axis.name, " could vary");
  }
  const double rate = LinkRate(value);
  if (rate <= link->background_gb_s()) {
    ThrowUserError("--sweep: ", axis.name, "=", value, " must be more than the link's ",
                   "background_gb_s (", link->background_gb_s(), ")");
  }
  link->set_gb_s(rate);
}

// Refuses two axes that set the same thing.
void CheckDistinct(const std::vector<SweepAxis>& axes) {
  const auto field = [](const SweepAxis& axis) {
    const bool theta = axis.kind == Kind::kTheta || axis.field == "comm.threshold_first" ||
                       axis.field == "comm.threshold_middle";
    return theta ? "theta" : axis.kind == Kind::kRanks ? "ranks" : axis.field;
  };
  for (size_t i = 0; i < axes.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      // The two thresholds themselves are two things.
      const bool fields = axes[i].kind == Kind::kField && axes[j].kind == Kind::kField;
      if (fields ? axes[i].field != axes[j].field : field(axes[i]) != field(axes[j])) continue;
      if (axes[i].name == axes[j].name) {
        ThrowUserError("--sweep: ", axes[j].name, " is given twice: give all values in one axis");
      }
      ThrowUserError("--sweep: ", axes[j].name, " and ", axes[i].name,
                     " set the same field: leave one of them out");
    }
  }
}

}  // namespace

std::vector<SweepAxis> ParseSweep(const std::string& text) {
  std::vector<SweepAxis> axes;
  for (const std::string& word : Split(text, ' ')) {
    if (!word.empty()) axes.push_back(ParseAxis(word));
  }
  if (axes.empty() || axes.size() > kMostAxes) {
    ThrowUserError("--sweep=\"", text, "\": expected 1 to ", kMostAxes, " axes; ", kForm);
  }
  CheckDistinct(axes);
  return axes;
}

void ApplyValue(const SweepAxis& axis, const std::string& value, SimulatedJob* job) {
  switch (axis.kind) {
    case Kind::kRanks:
      job->ranks = std::atoi(value.c_str());
      return;
    case Kind::kTheta:
      SetField("comm.threshold_first=" + value, &job->config);
      SetField("comm.threshold_middle=" + value, &job->config);
      return;
    case Kind::kLink:
      SetLink(axis, value, &job->cluster);
      return;
    case Kind::kField:
      SetField(axis.field + "=" + value, &job->config);
      return;
  }
}

bool HoldsBytes(const SweepAxis& axis) {
  return axis.numbers &&
         (axis.kind == Kind::kTheta || axis.field.compare(0, 15, "comm.threshold_") == 0);
}

}  // namespace gf
