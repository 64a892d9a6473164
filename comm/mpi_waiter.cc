#include "comm/mpi_waiter.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "comm/communicator.h"
#include "core/error.h"

namespace gf {
namespace {

constexpr int kTag = 1;
// Polling without sleep: this long, and longer the more travels (a slow network's time per
// byte), so that large transfers keep moving while idle ranks leave the cores to others.
constexpr double kPatience_s = 1e-3, kPatiencePerByte_s = 5e-9;
// Plans keep several messages under way, which a nap does not stop, and often run beside compute.
constexpr double kPlanPatience_s = 100e-6;
// What fits into Message::operation.
constexpr size_t kLongestName = 223;
constexpr double kServeInterval_s = 10e-3;
constexpr auto kNap = std::chrono::microseconds(50);

}  // namespace

void CheckMpi(int code, const std::string& operation) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw CommError(StrCat(operation, " on host ", HostName(), ": MPI: ", text));
}

MpiWaiter::MpiWaiter(MPI_Comm parent, double timeout_s) : timeout_s_(timeout_s) {
  CheckMpi(MPI_Comm_dup(parent, &control_), "start");
  MPI_Comm_set_errhandler(control_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(control_, &rank_);
  MPI_Comm_size(control_, &size_);
}

void MpiWaiter::Wait(MPI_Request* request, const std::string& operation, int64_t bytes) {
  Drive(
      [&] {
        int done = 0;
        CheckMpi(MPI_Test(request, &done, MPI_STATUS_IGNORE), operation);
        return done ? Progress::kDone : Progress::kNone;
      },
      operation, kPatience_s + bytes * kPatiencePerByte_s);
}

void MpiWaiter::Drive(const std::function<Progress()>& advance, const std::string& operation) {
  Drive(advance, operation, kPlanPatience_s);
}

void MpiWaiter::Drive(const std::function<Progress()>& advance, const std::string& operation,
                      double patience_s) {
  using Clock = std::chrono::steady_clock;
  operation_ = operation;
  idle_ = false;
  ++sequence_;
  auto last = Clock::now();
  const double ask_at = timeout_s_ - std::min(2.0, timeout_s_ / 4);
  const double patience = std::min(patience_s, ask_at);
  double serve_at = patience;
  bool asked = false;
  for (;;) {
    heartbeat_.fetch_add(1, std::memory_order_relaxed);
    const Progress progress = advance();
    if (progress == Progress::kDone) break;
    if (cancelled_) throw CommError(StrCat(NameOf(rank_), " gave up ", operation));
    if (progress == Progress::kSome) {
      last = Clock::now();
      serve_at = patience;
      asked = false;
      continue;
    }
    const double waited = std::chrono::duration<double>(Clock::now() - last).count();
    if (waited < patience) {
      sched_yield();
      continue;
    }
    if (waited >= serve_at) {
      AnswerAll();
      serve_at = waited + kServeInterval_s;
    }
    if (!asked && waited >= ask_at) {
      AskEverybody();
      asked = true;
    }
    if (waited >= timeout_s_) Expire(waited);
    std::this_thread::sleep_for(kNap);
  }
  idle_ = true;
}

void MpiWaiter::Serve(const std::string& activity) {
  idle_ = true;
  operation_ = activity;
  AnswerAll();
}

void MpiWaiter::Send(int to, bool is_answer, int64_t asked) {
  sent_.emplace_back();
  Sent& sent = sent_.back();
  sent.message = {is_answer, idle_, asked, sequence_, {}};
  std::strncpy(sent.message.operation, operation_.c_str(), kLongestName);
  static_assert(sizeof(sent.message.operation) == kLongestName + 1);
  CheckMpi(MPI_Isend(&sent.message, sizeof(Message), MPI_BYTE, to, kTag, control_, &sent.request),
           operation_);
}

void MpiWaiter::AskEverybody() {
  answers_.assign(size_, {});
  for (int i = 0; i < size_; ++i) {
    if (i != rank_) Send(i, false, sequence_);
  }
}

void MpiWaiter::AnswerAll() {
  for (;;) {
    int waiting = 0;
    MPI_Status status;
    CheckMpi(MPI_Iprobe(MPI_ANY_SOURCE, kTag, control_, &waiting, &status), operation_);
    if (!waiting) break;
    Message message;
    const int from = status.MPI_SOURCE;
    CheckMpi(MPI_Recv(&message, sizeof(message), MPI_BYTE, from, kTag, control_, &status),
             operation_);
    message.operation[sizeof(message.operation) - 1] = 0;
    if (!message.is_answer) {
      Send(from, true, message.asked);
    } else if (message.asked == sequence_ && !answers_.empty()) {
      answers_[from] = message;
    }
  }
  for (auto it = sent_.begin(); it != sent_.end();) {
    int done = 0;
    CheckMpi(MPI_Test(&it->request, &done, MPI_STATUS_IGNORE), operation_);
    it = done ? sent_.erase(it) : std::next(it);
  }
}

std::string MpiWaiter::NameOf(int rank) const {
  return hosts_.empty() ? StrCat("rank ", rank) : RankName(rank, hosts_);
}

void MpiWaiter::Expire(double waited_s) {
  constexpr int kNamed = 8;
  AnswerAll();
  std::string silent, elsewhere;
  int silent_count = 0, elsewhere_count = 0;
  for (int i = 0; i < size_; ++i) {
    if (i == rank_) continue;
    const Message& answer = answers_[i];
    if (!answer.is_answer || answer.idle) {
      if (++silent_count > kNamed) continue;
      silent += (silent.empty() ? "" : ", ") + NameOf(i);
      if (answer.is_answer && answer.operation[0] != 0) {
        silent += StrCat(" (busy with ", answer.operation, ")");
      }
    } else if (answer.sequence != sequence_ ||
               operation_.compare(0, kLongestName, answer.operation) != 0) {
      if (++elsewhere_count <= kNamed) {
        elsewhere += StrCat("; ", NameOf(i), " waits in ", answer.operation);
      }
    }
  }
  if (silent_count > kNamed) silent += StrCat(" and ", silent_count - kNamed, " more");
  std::string why = elsewhere;
  if (silent_count > 0) why = StrCat("; missing: ", silent, why);
  if (why.empty()) why = "; all ranks wait there: the network between them is stuck";
  char seconds[32];
  std::snprintf(seconds, sizeof(seconds), "%.1f", waited_s);
  throw CommError(StrCat(NameOf(rank_), " waited ", seconds, " s in ", operation_, why,
                         " (comm.timeout_s: ", timeout_s_, ")"));
}

}  // namespace gf
