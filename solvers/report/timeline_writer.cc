#include "solvers/report/timeline_writer.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "comm/agree.h"
#include "core/error.h"

namespace gf {
namespace {

[[noreturn]] void ThrowNotWritable(const std::string& path) {
  ThrowUserError("--timeline_file=", path, ": cannot be written: ", std::strerror(errno),
                 "; name a file in a folder that exists and has space");
}

// By a temporary name: who reads the file gets all of it.
void WriteFile(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".tmp";
  FILE* const file = std::fopen(temporary.c_str(), "w");
  if (file == nullptr) ThrowNotWritable(path);
  const bool complete = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  const bool closed = std::fclose(file) == 0;
  if (!complete) errno = error;
  if (!complete || !closed || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const int why = errno;
    std::remove(temporary.c_str());
    errno = why;
    ThrowNotWritable(path);
  }
}

}  // namespace

TimelineWriter::TimelineWriter(const Timeline* timeline, StepRange steps, const std::string& path,
                               Communicator* comm, std::function<void()> complete)
    : timeline_(timeline), steps_(steps), path_(path), comm_(comm), complete_(std::move(complete)) {
  written_ = steps.last < steps.first;
  if (written_) return;
  AgreeOnErrors(comm, "timeline", [&] {
    if (comm->rank() == 0) WriteFile(path, MergeTimelines({}));
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
  RunOnRankZero(comm_, "writing the timeline", [&] { WriteFile(path_, MergeTimelines(ranks)); });
  return true;
}

}  // namespace gf
