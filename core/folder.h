#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gf {

// What lies in folders. Functions that change something or list throw UserError "cannot VERB PATH:
// reason", see Note [Files].

bool IsFolder(const std::string& path);
bool IsFile(const std::string& path);
// A symbolic link, wherever it leads.
bool IsLink(const std::string& path);
// Whether anything has this name, even a symbolic link that leads nowhere.
bool Exists(const std::string& path);

// "a/b" -> "a", "b" -> ".", "/b" -> "/".
std::string ParentFolder(const std::string& path);

// Creates a folder and its parents where missing.
void MakeFolders(const std::string& path);

// Removes a file, or a folder with everything in it; nothing happens if it does not exist.
void RemoveAll(const std::string& path);
// The same, for what an error leaves behind: passes over errors of its own.
void RemoveQuietly(const std::string& path) noexcept;

// Puts the entries of a folder (creations, renames) on the disk.
void SyncFolder(const std::string& path);

// Names in a folder in byte order, without "." and "..".
std::vector<std::string> ListFolder(const std::string& path);

// The files in a folder and in the folders below it, by their paths from it on, in byte order.
// Links that lead nowhere count as files, which cannot be opened.
std::vector<std::string> ListFilesBelow(const std::string& path);

// The files that a folder (those with this ending), a glob or a file's own name stand for,
// in byte order. Throws UserError if there are none.
std::vector<std::string> ExpandFiles(const std::string& source, const std::string& ending);

// Bytes that a user may still write on the folder's file system.
uint64_t FreeBytes(const std::string& path);

}  // namespace gf
