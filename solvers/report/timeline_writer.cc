#include "solvers/report/timeline_writer.h"

#include <utility>
#include <vector>

#include "comm/agree.h"
#include "core/error.h"
#include "core/output_file.h"

namespace gf {

TimelineWriter::TimelineWriter(const Timeline* timeline, StepRange steps, const std::string& path,
                               Communicator* comm, std::function<void()> complete)
    : timeline_(timeline), steps_(steps), path_(path), comm_(comm), complete_(std::move(complete)) {
  written_ = steps.last < steps.first;
  if (written_) return;
  AgreeOnErrors(comm, "timeline", [&] {
    if (comm->rank() == 0) ReplaceFile(path, MergeTimelines({}));
  });
}

bool TimelineWriter::AfterStep(int64_t step) { return !written_ && step >= steps_.last && Write(); }

bool TimelineWriter::AtEnd() { return !written_ && Write(); }

bool TimelineWriter::Write() {
  written_ = true;
  complete_();
  // One rank's at a time, so that nobody but rank 0 holds those of all.
  std::vector<std::string> ranks;
  for (int rank = 0; rank < comm_->size(); ++rank) {
    std::string text = rank == comm_->rank() ? timeline_->Json() : "";
    comm_->Broadcast(&text, rank, StrCat("timeline of rank ", rank));
    if (comm_->rank() == 0) ranks.push_back(std::move(text));
  }
  RunOnRankZero(comm_, "writing the timeline", [&] { ReplaceFile(path_, MergeTimelines(ranks)); });
  return true;
}

}  // namespace gf
