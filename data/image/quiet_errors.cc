#include "data/image/quiet_errors.h"

#include <iostream>
#include <mutex>
#include <streambuf>

namespace gf {
namespace {

thread_local int quiet_objects = 0;

// Passes output on, unless its thread is quiet.
class Filter : public std::streambuf {
 public:
  void set_target(std::streambuf* target) { target_ = target; }
  std::streambuf* target() const { return target_; }

 protected:
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    if (quiet_objects > 0) return c;
    return target_->sputc(traits_type::to_char_type(c));
  }
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    return quiet_objects > 0 ? count : target_->sputn(text, count);
  }
  int sync() override { return quiet_objects > 0 ? 0 : target_->pubsync(); }

 private:
  std::streambuf* target_ = nullptr;
};

std::mutex mutex;
int users = 0;

// Lives as long as the process: another thread may still print through it.
Filter& TheFilter() {
  static auto* const filter = new Filter;
  return *filter;
}

}  // namespace

QuietErrors::QuietErrors() {
  ++quiet_objects;
  const std::lock_guard<std::mutex> lock(mutex);
  if (users++ > 0) return;
  Filter& filter = TheFilter();
  filter.set_target(std::cerr.rdbuf());
  std::cerr.rdbuf(&filter);
}

QuietErrors::~QuietErrors() {
  --quiet_objects;
  const std::lock_guard<std::mutex> lock(mutex);
  if (--users > 0) return;
  // Somebody else may have changed it meanwhile.
  if (std::cerr.rdbuf() == &TheFilter()) std::cerr.rdbuf(TheFilter().target());
}

}  // namespace gf
