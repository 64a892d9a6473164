#include "solvers/report/meter.h"

#include <algorithm>

namespace gf {

void Meter::Step(int64_t images, double loss, double data_wait_s, double comm_s) {
  ++steps_;
  images_ += images;
  loss_ += loss;
  data_wait_s_ += data_wait_s;
  comm_s_ += comm_s;
}

void Meter::Pause() { running_s_ += std::chrono::duration<double>(Clock::now() - since_).count(); }

void Meter::Resume() { since_ = Clock::now(); }

void Meter::Restart() {
  steps_ = images_ = 0;
  loss_ = data_wait_s_ = comm_s_ = running_s_ = 0;
  since_ = Clock::now();
}

void Meter::Close(TrainRecord* record) {
  Pause();
  const double steps = static_cast<double>(std::max<int64_t>(steps_, 1));
  const double seconds = std::max(running_s_, 1e-9);
  record->loss = loss_ / steps;
  record->images_per_s = static_cast<double>(images_) / seconds;
  record->data_wait = std::min(1.0, data_wait_s_ / seconds);
  record->comm_ms = 1e3 * comm_s_ / steps;
  step_s_ = step_s_ == 0 ? seconds / steps : 0.7 * step_s_ + 0.3 * seconds / steps;
  record->eta_s = step_s_ * static_cast<double>(record->max_steps - record->step);
  Restart();
}

}  // namespace gf
