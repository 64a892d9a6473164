#include "solvers/evaluate/output_table.h"

#include <glog/logging.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/host_memory.h"
#include "core/readable.h"

namespace gf {
namespace {

// MPI counts with 32 bits.
constexpr int64_t kMostAtATime = int64_t{1} << 26;

// Numbers of a table; checked.
size_t NumbersOf(int64_t images, int64_t outputs) {
  OutputTable::CheckMemory(images, outputs);
  return static_cast<size_t>(images * (outputs + 1));
}

}  // namespace

void OutputTable::CheckMemory(int64_t images, int64_t outputs) {
  const double numbers = static_cast<double>(images) * (static_cast<double>(outputs) + 1);
  if (numbers * sizeof(float) <= HostMemory()) return;
  ThrowUserError("an evaluation of ", WithCommas(images), " images with ", outputs,
                 " outputs each keeps ", HumanBytes(numbers * sizeof(float)),
                 " on every rank, but this process can have ", HumanBytes(HostMemory()),
                 ": evaluate on fewer images");
}

OutputTable::OutputTable(int64_t images, int64_t outputs)
    : outputs_(outputs), values_(NumbersOf(images, outputs)) {}

void OutputTable::Add(const std::vector<float>& outputs, const std::vector<int64_t>& images) {
  CHECK_LE(images.size() * outputs_, outputs.size());
  for (size_t i = 0; i < images.size(); ++i) {
    const float* const from = outputs.data() + static_cast<int64_t>(i) * outputs_;
    float* const to = values_.data() + images[i] * (outputs_ + 1);
    std::copy_n(from, outputs_, to);
    to[outputs_] = 1;
  }
}

void OutputTable::Reduce(Communicator* comm) {
  const auto all = static_cast<int64_t>(values_.size());
  for (int64_t begin = 0; begin < all; begin += kMostAtATime) {
    // One rank has an image's numbers, the others zeros: sums are exact in any order.
    comm->AllReduceSum(values_.data() + begin, std::min(kMostAtATime, all - begin), DType::kFP32,
                       "outputs of an evaluation");
  }
  images_.clear();
  const int64_t count = all / (outputs_ + 1);
  for (int64_t i = 0; i < count; ++i) {
    if (of(i)[outputs_] != 0) images_.push_back(i);
  }
}

TableTally::TableTally(int64_t images, int64_t outputs, LabelsOfImage labels)
    : table_(images, outputs), labels_(std::move(labels)) {}

void TableTally::Add(const std::vector<float>& outputs, const Batch&,
                     const std::vector<int64_t>& images) {
  table_.Add(outputs, images);
}

}  // namespace gf
