#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/file_digest.h"
#include "core/shape.h"

namespace gf {

// One tensor of a safetensors file (github.com/huggingface/safetensors, "Format").
struct SafetensorsEntry {
  std::string name;
  std::string dtype = "F32";    // F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL
  Shape shape;                  // row-major; rank 0 = one value
  uint64_t begin = 0, end = 0;  // bytes from the start of the data

  int64_t count() const { return shape.count(); }
};

// Bytes of one element of a dtype, 0 if it is unknown.
int SafetensorsElementSize(const std::string& dtype);

// Reads a safetensors file from anywhere: nothing in it is believed unchecked.
class SafetensorsReader {
 public:
  // Reads and checks the header. Throws UserError.
  explicit SafetensorsReader(const std::string& path);

  const std::string& path() const { return file_.path(); }
  // In the order of the data.
  const std::vector<SafetensorsEntry>& entries() const { return entries_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // Null if there is none of that name.
  const SafetensorsEntry* Find(const std::string& name) const;

  // The values of a tensor of a floating type as FP32. Throws UserError for another type.
  std::vector<float> ReadFloats(const SafetensorsEntry& entry) const;
  // The bytes of a tensor.
  std::vector<char> ReadBytes(const SafetensorsEntry& entry) const;

 private:
  bool ReadAll(uint64_t offset, void* to, size_t bytes) const;
  void CheckFormat() const;
  void ParseHeader(const std::string& header, uint64_t data_bytes);
  void CheckCoverage(uint64_t data_bytes);
  [[noreturn]] void Fail(const std::string& what) const;

  const InputFile file_;
  uint64_t data_start_ = 0;
  std::vector<SafetensorsEntry> entries_;
  std::map<std::string, size_t> index_;
  std::map<std::string, std::string> metadata_;
};

// Writes a safetensors file; the tensors are known beforehand and their values follow in
// order. Throws UserError when the disk does not take them.
class SafetensorsWriter {
 public:
  // begin and end of the entries are filled in here.
  SafetensorsWriter(const std::string& path, std::vector<SafetensorsEntry> entries,
                    const std::map<std::string, std::string>& metadata);

  // The values of the next tensor: `bytes` must be what its dtype and shape say.
  void Write(const void* values, size_t bytes);
  // After the last tensor: syncs and closes.
  FileDigest Finish();

 private:
  std::vector<SafetensorsEntry> entries_;
  size_t next_ = 0;
  HashedFile file_;
};

}  // namespace gf
