#include "core/telemetry/event_file.h"

#include <unistd.h>

#include <array>
#include <chrono>

#include "core/error.h"
#include "core/telemetry/event.pb.h"

namespace gf {
namespace {

double SecondsSince1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// CRC-32C (Castagnoli's polynomial, reflected 0x82f63b78), of a byte at a time.
uint32_t Crc32c(const std::string& bytes) {
  static const std::array<uint32_t, 256> kTable = [] {
    std::array<uint32_t, 256> table = {};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc % 2 == 1 ? 0x82f63b78U : 0U);
      table[i] = crc;
    }
    return table;
  }();
  uint32_t crc = ~0U;
  for (const char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(c)) & 255];
  return ~crc;
}

// Little-endian.
std::string Bytes(uint64_t value, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

// TFRecord's "masked" CRC: a CRC of data that hold CRCs would be a weak one.
std::string MaskedCrc(const std::string& bytes) {
  const uint32_t crc = Crc32c(bytes);
  return Bytes(((crc >> 15) | (crc << 17)) + 0xa282ead8U, 4);
}

}  // namespace

EventFile::EventFile(const std::string& folder) {
  if (folder.empty()) return;
  char host[256] = "localhost";
  gethostname(host, sizeof(host) - 1);
  tensorboard::Event version;
  version.set_wall_time(SecondsSince1970());
  version.set_file_version("brain.Event:2");
  const std::string path =
      StrCat(folder, "/events.out.tfevents.", static_cast<int64_t>(version.wall_time()), ".", host,
             ".", getpid());
  file_ = std::make_unique<OutputFile>(path);
  Append(version.SerializeAsString());
}

void EventFile::Append(const std::string& message) {
  const std::string length = Bytes(message.size(), 8);
  file_->Write(length + MaskedCrc(length) + message + MaskedCrc(message));
  file_->Flush();
}

void EventFile::Write(int64_t step, const std::vector<std::pair<std::string, double>>& scalars) {
  if (!file_) return;
  tensorboard::Event event;
  event.set_wall_time(SecondsSince1970());
  event.set_step(step);
  for (const auto& scalar : scalars) {
    tensorboard::Scalar* value = event.mutable_summary()->add_value();
    value->set_tag(scalar.first);
    value->set_simple_value(static_cast<float>(scalar.second));
  }
  try {
    Append(event.SerializeAsString());
  } catch (const UserError& error) {
    PrintRemark(StrCat(error.what(), "; no more events from here"));
    file_.reset();
  }
}

}  // namespace gf
