#include "comm/local/transport.h"

#include <glog/logging.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>

#include "comm/communicator.h"
#include "core/error.h"

namespace gf {

// A sender leaves a note where its data lie in the receiver's inbox; the receiver copies them and
// marks the note.
class LocalMail {
 public:
  struct Note {
    int from, tag;
    const void* data;
    size_t bytes;
    std::atomic<bool> taken{false};
  };
  struct Inbox {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::shared_ptr<Note>> notes;
    int64_t version = 0;  // counts whatever its rank may wait for
    int64_t operations = 0;
    std::string operation;
  };

  LocalMail(std::vector<std::string> hosts, double timeout_s)
      : hosts_(std::move(hosts)), timeout_s_(timeout_s), inboxes_(hosts_.size()) {}

  const std::vector<std::string>& hosts() const { return hosts_; }
  double timeout_s() const { return timeout_s_; }
  Inbox& inbox(int rank) { return inboxes_[rank]; }

  void Wake(int rank) {
    Inbox& inbox = inboxes_[rank];
    std::lock_guard<std::mutex> lock(inbox.mutex);
    ++inbox.version;
    inbox.changed.notify_all();
  }

  void Break(const std::string& why) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (broken_.empty()) broken_ = why;
    }
    for (size_t i = 0; i < inboxes_.size(); ++i) Wake(static_cast<int>(i));
  }
  std::string broken() {
    std::lock_guard<std::mutex> lock(mutex_);
    return broken_;
  }

 private:
  const std::vector<std::string> hosts_;
  const double timeout_s_;
  std::vector<Inbox> inboxes_;
  std::mutex mutex_;
  std::string broken_;
};

namespace {

class LocalTransport : public Transport {
 public:
  LocalTransport(int rank, std::shared_ptr<LocalMail> mail)
      : rank_(rank), mail_(std::move(mail)), inbox_(mail_->inbox(rank)) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(mail_->hosts().size()); }

  int64_t Send(int to, const void* data, size_t bytes, int tag) override {
    auto note = std::make_shared<LocalMail::Note>();
    note->from = rank_;
    note->tag = tag;
    note->data = data;
    note->bytes = bytes;
    {
      LocalMail::Inbox& inbox = mail_->inbox(to);
      std::lock_guard<std::mutex> lock(inbox.mutex);
      inbox.notes.push_back(note);
    }
    mail_->Wake(to);
    const int64_t slot = NewSlot();
    slots_[slot].note = std::move(note);
    return slot;
  }

  int64_t Receive(int from, void* data, size_t bytes, int tag) override {
    const int64_t slot = NewSlot();
    slots_[slot].from = from;
    slots_[slot].tag = tag;
    slots_[slot].data = data;
    slots_[slot].bytes = bytes;
    return slot;
  }

  bool Done(int64_t message) override {
    Slot& slot = slots_[message];
    if (slot.note) {
      if (!slot.note->taken.load(std::memory_order_acquire)) return false;
    } else {
      const std::shared_ptr<LocalMail::Note> note = Take(slot.from, slot.tag);
      if (!note) return false;
      CHECK_EQ(note->bytes, slot.bytes) << "from rank " << slot.from;
      std::memcpy(slot.data, note->data, slot.bytes);
      note->taken.store(true, std::memory_order_release);
      mail_->Wake(slot.from);
    }
    slot = Slot();
    free_.push_back(message);
    return true;
  }

  void Drive(const std::function<Progress()>& advance, const std::string& operation,
             int64_t) override {
    using Clock = std::chrono::steady_clock;
    {
      std::lock_guard<std::mutex> lock(inbox_.mutex);
      ++inbox_.operations;
      inbox_.operation = operation;
    }
    auto last = Clock::now();
    for (;;) {
      const int64_t version = Version();
      const Progress progress = advance();
      if (progress == Progress::kDone) return;
      const std::string broken = mail_->broken();
      if (!broken.empty()) throw CommError(broken);
      const auto now = Clock::now();
      if (progress == Progress::kSome) {
        last = now;
        continue;
      }
      const auto end = last + std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(mail_->timeout_s()));
      if (now >= end) Expire(operation);
      std::unique_lock<std::mutex> lock(inbox_.mutex);
      inbox_.changed.wait_until(lock, end, [&] { return inbox_.version != version; });
    }
  }

 private:
  struct Slot {
    std::shared_ptr<LocalMail::Note> note;  // of a send
    int from = -1, tag = 0;
    void* data = nullptr;
    size_t bytes = 0;
  };

  int64_t NewSlot() {
    if (free_.empty()) {
      slots_.emplace_back();
      return static_cast<int64_t>(slots_.size()) - 1;
    }
    const int64_t slot = free_.back();
    free_.pop_back();
    return slot;
  }

  int64_t Version() {
    std::lock_guard<std::mutex> lock(inbox_.mutex);
    return inbox_.version;
  }

  std::shared_ptr<LocalMail::Note> Take(int from, int tag) {
    std::lock_guard<std::mutex> lock(inbox_.mutex);
    for (auto it = inbox_.notes.begin(); it != inbox_.notes.end(); ++it) {
      if ((*it)->from != from || (*it)->tag != tag) continue;
      const std::shared_ptr<LocalMail::Note> note = *it;
      inbox_.notes.erase(it);
      return note;
    }
    return nullptr;
  }

  [[noreturn]] void Expire(const std::string& operation) {
    int64_t mine;
    {
      std::lock_guard<std::mutex> lock(inbox_.mutex);
      mine = inbox_.operations;
    }
    std::vector<int> missing;
    for (int i = 0; i < size(); ++i) {
      LocalMail::Inbox& other = mail_->inbox(i);
      std::lock_guard<std::mutex> lock(other.mutex);
      if (other.operations != mine || other.operation != operation) missing.push_back(i);
    }
    const std::string who = missing.empty() ? "nobody" : RankList(missing);
    const std::string why =
        StrCat(RankName(rank_, mail_->hosts()), " waited ", mail_->timeout_s(), " s in ", operation,
               "; missing: ", who, " (comm.timeout_s: ", mail_->timeout_s(), ")");
    mail_->Break(why);
    throw CommError(why);
  }

  const int rank_;
  const std::shared_ptr<LocalMail> mail_;
  LocalMail::Inbox& inbox_;
  std::vector<Slot> slots_;
  std::vector<int64_t> free_;
};

}  // namespace

std::shared_ptr<LocalMail> NewLocalMail(const std::vector<std::string>& hosts, double timeout_s) {
  return std::make_shared<LocalMail>(hosts, timeout_s);
}

void BreakLocalMail(LocalMail* mail, const std::string& why) { mail->Break(why); }

std::unique_ptr<Transport> NewLocalTransport(int rank, std::shared_ptr<LocalMail> mail) {
  return std::make_unique<LocalTransport>(rank, std::move(mail));
}

}  // namespace gf
