#include "solvers/train/step_keeper.h"

#include <fcntl.h>
#include <omp.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

#include "core/error.h"
#include "core/readable.h"
#include "solvers/train/signals.h"

namespace gf {
namespace {

// After SIGCONT a process that is to be killed is killed within two seconds.
constexpr double kAlert_s = 5;
// Batch systems kill a job's processes, whatever their session, from 30 seconds after SIGTERM on
// (Slurm's KillWait).
constexpr double kSlowStep_s = 10;
// Longer than any job takes to end.
constexpr double kLong_s = 3600;
// An update on this rank takes less.
constexpr auto kLongestUpdate = std::chrono::seconds(3);

}  // namespace

StepKeeper::StepKeeper(const Parts& parts, const TrainingState& state)
    : parts_(parts),
      terminal_(open("/dev/tty", O_WRONLY | O_NOCTTY | O_CLOEXEC)),
      state_(state),
      saved_step_(state.step) {
  StepDone(state);
  thread_ = std::thread([this] { Watch(); });
}

StepKeeper::~StepKeeper() {
  {
    const Lock lock(mutex_);
    quit_ = true;
    opened_.notify_all();
  }
  EndWait();
  thread_.join();
}

std::vector<std::pair<const Tensor*, std::vector<float>*>> StepKeeper::Statistics() {
  std::vector<std::pair<const Tensor*, std::vector<float>*>> pools = {
      {&parts_.store->states(), &statistics_}};
  if (parts_.store->average()) {
    pools.emplace_back(&parts_.store->average()->states(), &average_statistics_);
  }
  return pools;
}

void StepKeeper::BeginUpdate() {
  const Lock lock(mutex_);
  open_ = false;
}

void StepKeeper::StepDone(const TrainingState& state) {
  const Lock lock(mutex_);
  state_ = state;
  if (can_save()) {
    for (const auto& [pool, kept] : Statistics()) {
      kept->assign(pool->as<float>(), pool->as<float>() + pool->desc.shape.count());
    }
  }
  open_ = true;
  if (ending_) {
    Renew(Mode::kInTime, kSlowStep_s);
  } else if (Clock::now() < alert_until_) {
    Renew(Mode::kIfKilled, kAlert_s);
  }
  opened_.notify_all();
}

void StepKeeper::Saving() {
  const Lock lock(mutex_);
  saving_ = true;
  if (copy_) Renew(Mode::kIfKilled, kLong_s);
}

void StepKeeper::Saved() {
  const Lock lock(mutex_);
  saving_ = false;
  saved_step_ = state_.step;
  if (copy_) Renew(Mode::kIfKilled, kLong_s);
  opened_.notify_all();
}

void StepKeeper::Stopped(const std::string& words) {
  if (!launcher_.OutputIsRead()) SayOnTerminal(words);
}

void StepKeeper::Save() {
  Lock lock(mutex_, kLongestUpdate);
  if (!lock.owns_lock()) return;
  if (can_save() && !opened_.wait_for(lock, kLongestUpdate, [this] { return open_; })) return;
  // A copy that exists may be saving: replacing it could take as long as a hanging file system.
  if (!ending_ || !copy_) Renew(Mode::kIfKilled, kLong_s);
  if (!copy_) return;
  copy_->Act();
  acts_ = true;
}

void StepKeeper::Watch() {
  for (;;) {
    const Warning warning = WaitForWarning(launcher_.descriptor());
    Lock lock(mutex_);
    if (can_save()) opened_.wait(lock, [this] { return open_ || quit_; });
    if (quit_ || acts_) return;
    if (launcher_.found() && launcher_.Ended(0)) return EndAtOnce(&lock);
    if (warning == Warning::kMayEnd) {
      alert_until_ = Clock::now() + std::chrono::seconds(static_cast<int>(kAlert_s));
      if (!ending_) Renew(Mode::kIfKilled, kAlert_s);
    } else if (warning == Warning::kEnds && !ending_) {
      ending_ = true;
      Renew(Mode::kInTime, kSlowStep_s);
    }
  }
}

void StepKeeper::EndAtOnce(Lock* lock) {
  // Waking up takes the copy a moment.
  if (!copy_ || copy_until_ < Clock::now() + std::chrono::seconds(2)) {
    Renew(Mode::kIfKilled, kLong_s);
  }
  opened_.wait(*lock, [this] { return !saving_ || quit_; });
  if (!quit_ && !acts_ && copy_) kill(getpid(), SIGKILL);
}

void StepKeeper::Renew(Mode mode, double patience_s) {
  if (acts_) return;
  if (!can_save() || saving_) {
    mode = Mode::kIfKilled;
    if (ending_) patience_s = kLong_s;
  }
  try {
    copy_ = std::make_unique<Survivor>(
        patience_s, [this, mode](Survivor::Reason reason) { return Act(reason, mode); },
        launcher_.standard_error());
    copy_until_ =
        Clock::now() +
        std::chrono::seconds(static_cast<int>(mode == Mode::kInTime ? kLong_s : patience_s));
  } catch (const std::exception& error) {
    PrintWarning("a kill in the middle of a step loses the steps since the last checkpoint: ",
                 error.what());
  }
}

bool StepKeeper::Act(Survivor::Reason reason, Mode mode) {
  const bool killed = reason == Survivor::Reason::kOrphaned;
  if (!killed && mode == Mode::kIfKilled) return false;
  omp_set_num_threads(1);
  const std::string kept = Keep(killed);
  // mpirun may take until EndLauncherLater ends it. What it still prints comes first, and does not
  // overwrite the line in a file.
  constexpr double kMpirunEnds_s = 10;
  if (killed) {
    launcher_.Ended(kMpirunEnds_s);
  } else if (launcher_.found()) {
    return true;
  }
  const std::string words = StrCat(
      killed ? "ended " : "still ",
      state_.step == parts_.last_step ? "after the last step" : StrCat("in step ", state_.step + 1),
      "; ", kept);
  PrintRemark(words);
  if (std::ferror(stderr) != 0) SayOnTerminal(words);
  return true;
}

void StepKeeper::SayOnTerminal(const std::string& words) const {
  // The terminal may stop processes in the background that write to it.
  std::signal(SIGTTOU, SIG_IGN);
  const FileDescriptor before(dup(STDERR_FILENO));
  if (dup2(terminal_.get(), STDERR_FILENO) < 0) return;
  PrintRemark(words);
  dup2(before.get(), STDERR_FILENO);
}

std::string StepKeeper::Keep(bool killed) {
  if (state_.step == 0) return "no step was complete, nothing is lost";
  std::string obstacle = parts_.obstacle;
  if (can_save()) {
    for (const auto& [pool, kept] : Statistics()) {
      if (!kept->empty()) std::memcpy(pool->data, kept->data(), pool->desc.bytes());
    }
    try {
      return StrCat("step ", state_.step, " is saved in ", parts_.save(state_),
                    "; continue with --resume");
    } catch (const std::exception& error) {
      obstacle = Describe(error).message;
    }
  }
  if (state_.step == saved_step_) {
    return StrCat("nothing is lost: step ", saved_step_, " is in the last checkpoint");
  }
  return StrCat(killed ? "lost: " : "not saved: ", Counted(state_.step - saved_step_, "step"),
                ", because ", obstacle, "; ",
                saved_step_ > 0 ? StrCat("the last checkpoint is of step ", saved_step_)
                                : std::string("there is no checkpoint"));
}

}  // namespace gf
