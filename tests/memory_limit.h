// A limit of a test's memory, so that running out of it needs no large machine.
#pragma once

#include "limpid/core/detail/sanitized.h"

#if defined(__linux__) && !LIMPID_SANITIZED  // sanitizers map far more than they use

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>

namespace limpid {

// While it lives, the process can map at most `more` bytes of memory beyond what it has.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::uint64_t more) {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    EXPECT_EQ(::getrlimit(RLIMIT_AS, &before_), 0);
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const rlimit tight{std::min<rlim_t>(pages * page + more, before_.rlim_max), before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_AS, &tight), 0);
    rlimit now{};
    EXPECT_EQ(::getrlimit(RLIMIT_AS, &now), 0);
    holds_ = now.rlim_cur == tight.rlim_cur;
  }
  ~MemoryLimit() { ::setrlimit(RLIMIT_AS, &before_); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

  bool holds() const { return holds_; }  // not where an emulator ignores it

 private:
  rlimit before_{};
  bool holds_ = false;
};

}  // namespace limpid

#endif
