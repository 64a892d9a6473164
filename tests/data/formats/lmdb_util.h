#pragma once

#include <gtest/gtest.h>
#include <lmdb.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace gf {

// Messages of Caffe's Datum, field by field.
inline std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
  return bytes + static_cast<char>(value);
}

inline std::string NumberField(int field, uint64_t value) {
  return Varint(field * 8) + Varint(value);
}
inline std::string BytesField(int field, const std::string& bytes) {
  return Varint(field * 8 + 2) + Varint(bytes.size()) + bytes;
}

inline std::string RawDatum(int channels, int height, int width, const std::string& pixels,
                            int label) {
  return NumberField(1, channels) + NumberField(2, height) + NumberField(3, width) +
         BytesField(4, pixels) + NumberField(5, label);
}

inline std::string EncodedDatum(const std::string& image, int label) {
  return NumberField(5, label) + NumberField(7, 1) + BytesField(4, image);
}

// Field float_data: one number after the other, as Caffe writes them, or packed.
inline std::string FloatsField(const std::vector<float>& values, bool packed) {
  std::string bytes;
  for (const float value : values) {
    char number[sizeof(value)];
    std::memcpy(number, &value, sizeof(value));
    if (!packed) bytes += Varint(6 * 8 + 5);
    bytes.append(number, sizeof(number));
  }
  return packed ? BytesField(6, bytes) : bytes;
}

// `planes`: channels x height x width.
inline std::string FloatDatum(int channels, int height, int width, const std::vector<float>& planes,
                              int label, bool packed) {
  return NumberField(1, channels) + NumberField(2, height) + NumberField(3, width) +
         FloatsField(planes, packed) + NumberField(5, label);
}

using LmdbRecords = std::vector<std::pair<std::string, std::string>>;

// Writes a database of keys and values in the folder, as Caffe's tools do. `flags`: of the
// database.
inline void WriteLmdb(const std::string& folder, const LmdbRecords& records, unsigned flags = 0,
                      const char* name = nullptr) {
  std::filesystem::create_directories(folder);
  MDB_env* environment;
  ASSERT_EQ(mdb_env_create(&environment), 0);
  ASSERT_EQ(mdb_env_set_mapsize(environment, 64 << 20), 0);
  if (name) {
    ASSERT_EQ(mdb_env_set_maxdbs(environment, 1), 0);
  }
  ASSERT_EQ(mdb_env_open(environment, folder.c_str(), 0, 0644), 0);
  MDB_txn* transaction;
  ASSERT_EQ(mdb_txn_begin(environment, nullptr, 0, &transaction), 0);
  MDB_dbi database;
  ASSERT_EQ(mdb_dbi_open(transaction, name, flags, &database), 0);
  for (const auto& record : records) {
    MDB_val key = {record.first.size(), const_cast<char*>(record.first.data())};
    MDB_val value = {record.second.size(), const_cast<char*>(record.second.data())};
    ASSERT_EQ(mdb_put(transaction, database, &key, &value, 0), 0);
  }
  ASSERT_EQ(mdb_txn_commit(transaction), 0);
  mdb_env_close(environment);
}

// What liblmdb reads in a folder.
inline LmdbRecords ReadLmdb(const std::string& folder) {
  LmdbRecords records;
  MDB_env* environment;
  EXPECT_EQ(mdb_env_create(&environment), 0);
  EXPECT_EQ(mdb_env_open(environment, folder.c_str(), MDB_RDONLY | MDB_NOLOCK, 0), 0);
  MDB_txn* transaction;
  EXPECT_EQ(mdb_txn_begin(environment, nullptr, MDB_RDONLY, &transaction), 0);
  MDB_dbi database;
  EXPECT_EQ(mdb_dbi_open(transaction, nullptr, 0, &database), 0);
  MDB_cursor* cursor;
  EXPECT_EQ(mdb_cursor_open(transaction, database, &cursor), 0);
  MDB_val key, value;
  while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
    records.emplace_back(std::string(static_cast<char*>(key.mv_data), key.mv_size),
                         std::string(static_cast<char*>(value.mv_data), value.mv_size));
  }
  mdb_cursor_close(cursor);
  mdb_txn_abort(transaction);
  mdb_env_close(environment);
  return records;
}

}  // namespace gf
