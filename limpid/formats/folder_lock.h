// FolderLock: locks a folder for one writer at a time. Depends on core and POSIX.
#pragma once

#include <filesystem>

namespace limpid {

// Locks a folder for its lifetime. The system releases the lock when the process ends in any way;
// no lock file is left. The lock is advisory: it only excludes other FolderLocks. Where only files
// can be locked, as by several hosts on NFS, the lock is that of a file .limpid-lock, which stays.
class FolderLock {
 public:
  // Throws kIo if there is no such folder, or if another FolderLock holds it, in this process or
  // another one on this machine, or on another one where the file system says so.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace limpid
