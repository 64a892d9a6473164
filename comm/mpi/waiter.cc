#include "comm/mpi/waiter.h"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace gf {
namespace {

// Polling without sleep: this long, and longer the more travels (a slow network's time per
// byte), so that large transfers keep moving while idle ranks leave the cores to others.
constexpr double kPatience_s = 1e-3, kPatiencePerByte_s = 5e-9;
// Plans of few bytes wait for latencies. Plans of many bytes keep several messages under way, which
// a nap does not stop, and often run beside compute.
constexpr int64_t kFewBytes = int64_t{256} << 10;
constexpr double kFewBytesPatience_s = 500e-6;
constexpr auto kNap = std::chrono::microseconds(50), kLongNap = std::chrono::microseconds(100);
constexpr double kServeInterval_s = 10e-3;

}  // namespace

void MpiWaiter::Wait(MPI_Request* request, const std::string& operation, int64_t bytes) {
  Drive(
      [&] {
        int done = 0;
        CheckMpi(MPI_Test(request, &done, MPI_STATUS_IGNORE), operation);
        return done ? Progress::kDone : Progress::kNone;
      },
      operation, kPatience_s + static_cast<double>(bytes) * kPatiencePerByte_s, kNap);
}

void MpiWaiter::Drive(const std::function<Progress()>& advance, const std::string& operation,
                      int64_t bytes) {
  if (bytes < kFewBytes) {
    Drive(advance, operation, kFewBytesPatience_s, kNap);
  } else {
    Drive(advance, operation, 0, kLongNap);
  }
}

void MpiWaiter::Drive(const std::function<Progress()>& advance, const std::string& operation,
                      double patience_s, std::chrono::microseconds nap) {
  watchdog_->Begin(operation);
  const double ask_at = timeout_s_ - std::min(2.0, timeout_s_ / 4);
  const double patience = std::min(patience_s, ask_at);
  double serve_at = patience;
  bool asked = false;
  for (;;) {
    watchdog_->Beat();
    const Progress progress = advance();
    if (progress == Progress::kDone) break;
    watchdog_->ThrowIfCancelled();
    if (progress == Progress::kSome) {
      watchdog_->Progressed();
      serve_at = patience;
      asked = false;
      continue;
    }
    const double waited = watchdog_->Waited();
    if (waited < patience) {
      sched_yield();
      continue;
    }
    if (waited >= serve_at) {
      watchdog_->LookAround();
      serve_at = waited + kServeInterval_s;
    }
    if (!asked && waited >= ask_at) {
      watchdog_->AskEverybody();
      asked = true;
    }
    if (waited >= timeout_s_) watchdog_->Expire();
    std::this_thread::sleep_for(nap);
  }
  watchdog_->End();
}

}  // namespace gf
