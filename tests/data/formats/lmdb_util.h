#pragma once

#include <gtest/gtest.h>
#include <lmdb.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace gf {

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
