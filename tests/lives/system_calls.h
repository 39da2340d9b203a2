// The system calls with which this program reads and writes files: a record of them, and partial or
// failing calls. Only files below `folder` count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace limpid::lives {

struct SystemCalls {
  std::filesystem::path folder;
  // The maximum that one read or write moves.
  std::size_t most_bytes = std::numeric_limits<std::size_t>::max();
  // The index of the first write, fsync or rename (from 0) that fails, how many fail, and the
  // error. A failing write first writes half of its bytes.
  std::int64_t first_failure = std::numeric_limits<std::int64_t>::max();
  std::int64_t failures = std::numeric_limits<std::int64_t>::max();
  int error = 0;
  std::int64_t failing_reads = 0;  // the first N reads fail, with `error`
  // "write log.jsonl", "fsync log.jsonl", "rename config.json": by the name of the file; that of a
  // temporary file is "temporary", that of the folder itself "folder".
  std::vector<std::string> done = {};
  std::int64_t changes = 0;  // writes, fsyncs and renames
};

// Watches the calls of this process while it lives; one at a time.
class Watch {
 public:
  explicit Watch(SystemCalls& calls);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
};

}  // namespace limpid::lives
