// FolderLock: a folder for one writer at a time. Depends on core and POSIX.
#pragma once

#include <filesystem>

namespace limpid {

// Holds a folder while it lives. The system lets go of it when the process ends, however it ends:
// nothing is left on the disk. Those who ask for no lock are not kept out.
class FolderLock {
 public:
  // Throws kIo where there is no such folder, or another FolderLock holds it, in this process or in
  // another one of this machine.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace limpid
