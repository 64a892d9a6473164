#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/failure/launcher.h"
#include "core/file_descriptor.h"
#include "core/survivor.h"
#include "models/parameter_store.h"
#include "solvers/checkpoint/checkpoint.h"

namespace gf {

// Saves the last complete step of a job that is killed in the middle of the next one. As soon as a
// signal announces the end of the process (WaitForWarning), a copy of the process (Survivor) holds
// weights, state and optimizer as they were after that step. If the process is killed, the copy
// writes a checkpoint; in any case it says which steps are kept and how to go on. Until then a step
// costs nothing but waiting in StepUpdate (Parts::before_update); after the announcement the copy
// shares the memory that the process does not write to.
//
// Batch-norm statistics of such a checkpoint are those of rank 0, and it has no residuals.
//
// For rank 0. All functions but Save are for the thread that trains.
class StepKeeper {
 public:
  struct Parts {
    ParameterStore* store;
    // Returns the folder of a checkpoint of this state, which it writes if there is none; called in
    // the copy.
    std::function<std::string(const TrainingState&)> save;
    // Why nothing can be saved in the middle of a step; empty if that is possible.
    std::string obstacle;
    int64_t last_step = 0;  // of the training
  };

  // `state`: of the step that was loaded from a checkpoint, or of step 0. Starts a thread that
  // waits for warnings.
  StepKeeper(const Parts& parts, const TrainingState& state);
  ~StepKeeper();
  StepKeeper(const StepKeeper&) = delete;
  StepKeeper& operator=(const StepKeeper&) = delete;

  // Before the first change of weights, optimizer or state in a step. Waits for a copy in the
  // making.
  void BeginUpdate();
  // The step is complete, and pools and `state` are those after it.
  void StepDone(const TrainingState& state);
  // A checkpoint of the last complete step is about to be written; it is written.
  void Saving();
  void Saved();

  // The job ends by itself after a signal. If nobody reads its output, because Ctrl-C has also
  // ended the tee of `mpirun ... | tee log`, says the words on the terminal.
  void Stopped(const std::string& words);

  // The process ends at once, after an error of other ranks: leaves a copy that saves the last
  // complete step. From any thread.
  void Save();

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::timed_mutex>;
  enum class Mode {
    kIfKilled,  // the copy acts only if this process is killed
    kInTime,    // and before a batch system would kill the copy, too
  };

  void Watch();
  // mpirun has ended: MPI ends this process within a second, from a thread of its own, beside which
  // a copy is not safe to make. The last copy saves the step; a checkpoint that is being written is
  // completed first. mutex_ and open_ as for Renew.
  void EndAtOnce(Lock* lock);
  // The pools of batch norms' statistics, with where this object keeps what they hold.
  std::vector<std::pair<const Tensor*, std::vector<float>*>> Statistics();
  bool can_save() const { return parts_.obstacle.empty(); }
  // Replaces the copy; mutex_ is held, and open_ where something can be saved.
  void Renew(Mode mode, double patience_s);
  // In the copy.
  bool Act(Survivor::Reason reason, Mode mode);
  void SayOnTerminal(const std::string& words) const;
  // Saves if that is possible and says what is kept.
  std::string Keep(bool killed);

  const Parts parts_;
  const Launcher launcher_;
  const FileDescriptor terminal_;  // where this process has one
  std::timed_mutex mutex_;
  std::condition_variable_any opened_;
  bool open_ = true;  // the pools are those of state_
  bool ending_ = false;
  bool saving_ = false;  // rank 0 is writing the checkpoint of state_
  TrainingState state_;
  // Of batch norms, in training and in the average: forward passes and means over the ranks change
  // them before StepDone.
  std::vector<float> statistics_, average_statistics_;
  int64_t saved_step_;             // in the last checkpoint
  Clock::time_point alert_until_;  // every step renews the copy
  std::unique_ptr<Survivor> copy_;
  Clock::time_point copy_until_;  // it waits until then for this process to be killed
  bool acts_ = false;             // a copy saves although this process lives
  bool quit_ = false;
  std::thread thread_;
};

}  // namespace gf
