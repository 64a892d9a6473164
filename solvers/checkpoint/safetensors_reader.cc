#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/dtype.h"
#include "core/error.h"
#include "core/printable.h"
#include "solvers/checkpoint/foreign_weights.h"
#include "solvers/checkpoint/safetensors.h"
#include "solvers/checkpoint/strict_json.h"

namespace gf {
namespace {

using nlohmann::json;

constexpr uint64_t kMaxHeaderBytes = uint64_t{16} << 20;
// { "name": { "shape": [ ... ] } }
constexpr int kMaxNesting = 3;

// Number of elements, -1 if a dimension is negative or the product too large.
int64_t CheckedCount(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (int64_t d : dims) {
    if (d < 0 || d > kMaxElements) return -1;
    if (d != 0 && count > kMaxElements / d) return -1;
    count *= d;
  }
  return count;
}

// FP16 to FP32, exact.
float FromFP16(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  uint32_t exponent = (h >> 10) & 0x1f, mantissa = h & 0x3ffu;
  uint32_t bits;
  if (exponent == 0x1f) {
    bits = sign | 0x7f800000u | (mantissa << 13);
  } else if (exponent != 0) {
    bits = sign | ((exponent + 112) << 23) | (mantissa << 13);
  } else if (mantissa == 0) {
    bits = sign;
  } else {
    exponent = 113;
    while ((mantissa & 0x400u) == 0) {
      mantissa <<= 1;
      --exponent;
    }
    bits = sign | (exponent << 23) | ((mantissa & 0x3ffu) << 13);
  }
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

}  // namespace

int SafetensorsElementSize(const std::string& dtype) {
  static const std::map<std::string, int> kSizes = {
      {"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8}, {"U64", 8}, {"I32", 4},
      {"U32", 4}, {"I16", 2}, {"U16", 2}, {"I8", 1},   {"U8", 1},  {"BOOL", 1}};
  const auto it = kSizes.find(dtype);
  return it == kSizes.end() ? 0 : it->second;
}

void SafetensorsReader::Fail(const std::string& what) const {
  ThrowUserError(path(), ": not a valid safetensors file: ", what,
                 ". Perhaps an incomplete download or copy?");
}

// False if the file ends before that.
bool SafetensorsReader::ReadAll(uint64_t offset, void* to, size_t bytes) const {
  return file_.ReadAt(static_cast<int64_t>(offset), to, bytes) == bytes;
}

SafetensorsReader::SafetensorsReader(const std::string& path) : file_(path) {
  const uint64_t size = static_cast<uint64_t>(file_.size());
  uint8_t prefix[8];
  if (size < sizeof(prefix)) Fail(StrCat("it has ", size, " bytes, expected at least 8"));
  if (!ReadAll(0, prefix, sizeof(prefix))) Fail("its first 8 bytes cannot be read");
  CheckFormat();
  uint64_t header_bytes = 0;
  for (int i = 7; i >= 0; --i) header_bytes = header_bytes << 8 | prefix[i];
  if (header_bytes > kMaxHeaderBytes) {
    Fail(StrCat("its header would have ", header_bytes, " bytes, expected at most ",
                kMaxHeaderBytes));
  }
  if (header_bytes > size - sizeof(prefix)) {
    Fail(StrCat("its header should have ", header_bytes, " bytes but the file has ",
                size - sizeof(prefix), " after the length"));
  }
  std::string header(header_bytes, '\0');
  if (!ReadAll(sizeof(prefix), &header[0], header_bytes)) Fail("its header cannot be read");
  data_start_ = sizeof(prefix) + header_bytes;
  ParseHeader(header, size - data_start_);
  CheckCoverage(size - data_start_);
}

void SafetensorsReader::CheckFormat() const {
  char start[16];
  const size_t bytes = file_.ReadAt(0, start, sizeof(start));
  const std::string other = ForeignWeights(path(), {start, bytes});
  if (!other.empty()) ThrowUserError(path(), ": is ", other);
}

void SafetensorsReader::ParseHeader(const std::string& header, uint64_t data_bytes) {
  std::string mistake;
  const json root = ParseStrictly<json>(header, kMaxNesting, &mistake);
  if (!mistake.empty()) Fail("its header " + mistake);
  for (const auto& item : root.items()) {
    const std::string& key = item.key();
    const std::string name = Excerpt(key);
    const json& value = item.value();
    if (!value.is_object()) Fail(StrCat("\"", name, "\" is not a JSON object"));
    if (key == "__metadata__") {
      for (const auto& pair : value.items()) {
        if (!pair.value().is_string()) Fail("a value of __metadata__ is not a string");
        metadata_[pair.key()] = pair.value().get<std::string>();
      }
      continue;
    }
    const auto dtype = value.find("dtype"), shape = value.find("shape");
    const auto offsets = value.find("data_offsets");
    if (dtype == value.end() || !dtype->is_string() || shape == value.end() || !shape->is_array() ||
        offsets == value.end() || !offsets->is_array() || offsets->size() != 2) {
      Fail(StrCat("\"", name, "\" lacks a proper dtype, shape or data_offsets"));
    }
    SafetensorsEntry entry;
    entry.name = key;
    entry.dtype = dtype->get<std::string>();
    const int element = SafetensorsElementSize(entry.dtype);
    if (element == 0) Fail(StrCat("\"", name, "\" has the unknown dtype ", Excerpt(entry.dtype)));
    std::vector<int64_t> dims;
    for (const json& d : *shape) {
      if (!d.is_number_unsigned()) Fail(StrCat("\"", name, "\" has a shape of non-numbers"));
      dims.push_back(static_cast<int64_t>(
          std::min<uint64_t>(d.get<uint64_t>(), static_cast<uint64_t>(INT64_MAX))));
    }
    const int64_t count = CheckedCount(dims);
    if (count < 0) {
      Fail(StrCat("\"", name, "\" has the impossible shape ", Excerpt(Shape(dims).ToString(), 60),
                  ", expected at most ", kMaxElements, " (2^40) elements"));
    }
    entry.shape = Shape(std::move(dims));
    if (!(*offsets)[0].is_number_unsigned() || !(*offsets)[1].is_number_unsigned()) {
      Fail(StrCat("\"", name, "\" has data_offsets that are not numbers"));
    }
    entry.begin = (*offsets)[0].get<uint64_t>();
    entry.end = (*offsets)[1].get<uint64_t>();
    if (entry.begin > entry.end || entry.end > data_bytes) {
      Fail(StrCat("\"", name, "\" lies at bytes ", entry.begin, " to ", entry.end,
                  " of the data, but there are ", data_bytes));
    }
    if (entry.end - entry.begin != static_cast<uint64_t>(count) * element) {
      Fail(StrCat("\"", name, "\" has ", entry.end - entry.begin, " bytes, but its shape ",
                  Excerpt(entry.shape.ToString()), " of ", entry.dtype, " takes ",
                  static_cast<uint64_t>(count) * element));
    }
    entries_.push_back(std::move(entry));
  }
}

// The tensors must fill the data without gaps and overlaps.
void SafetensorsReader::CheckCoverage(uint64_t data_bytes) {
  std::sort(entries_.begin(), entries_.end(),
            [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
              return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
            });
  uint64_t position = 0;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const SafetensorsEntry& entry = entries_[i];
    if (entry.begin != position) {
      Fail(StrCat("\"", Excerpt(entry.name), "\" begins at byte ", entry.begin,
                  " of the data, expected ", position,
                  entry.begin < position ? " (tensors overlap)" : " (there is a gap)"));
    }
    position = entry.end;
    index_[entry.name] = i;
  }
  if (position != data_bytes) {
    Fail(StrCat("its tensors take ", position, " bytes, but ", data_bytes, " are there"));
  }
}

const SafetensorsEntry* SafetensorsReader::Find(const std::string& name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &entries_[it->second];
}

std::vector<char> SafetensorsReader::ReadBytes(const SafetensorsEntry& entry) const {
  std::vector<char> bytes(entry.end - entry.begin);
  if (!ReadAll(data_start_ + entry.begin, bytes.data(), bytes.size())) {
    Fail(StrCat("the data of \"", Excerpt(entry.name), "\" cannot be read"));
  }
  return bytes;
}

std::vector<float> SafetensorsReader::ReadFloats(const SafetensorsEntry& entry) const {
  const std::vector<char> bytes = ReadBytes(entry);
  std::vector<float> values(static_cast<size_t>(entry.count()));
  const auto convert = [&](auto element, auto to_float) {
    for (size_t i = 0; i < values.size(); ++i) {
      std::memcpy(&element, bytes.data() + i * sizeof(element), sizeof(element));
      values[i] = to_float(element);
    }
  };
  if (entry.dtype == "F32") {
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  } else if (entry.dtype == "F64") {
    convert(double{}, [](double x) { return static_cast<float>(x); });
  } else if (entry.dtype == "F16") {
    convert(uint16_t{}, FromFP16);
  } else if (entry.dtype == "BF16") {
    convert(uint16_t{}, FromBF16);
  } else {
    ThrowUserError(path(), ": \"", Excerpt(entry.name), "\" is of type ", entry.dtype,
                   ", expected a floating type (F32, F16, BF16 or F64)");
  }
  return values;
}

}  // namespace gf
