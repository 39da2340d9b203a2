// AccessLog: writes a line of JSON for each request. It has its own thread, so that a slow or full
// disk does not delay responses.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "limpid/serve/http.h"

namespace limpid::serve {

// The contents of a line. The target is cut after 256 bytes.
struct LogEntry {
  std::string client;
  std::string method;
  std::string target;
  int status = 0;  // 499: the client disconnected before the response
  std::size_t request_bytes = 0;
  std::size_t answer_bytes = 0;
  double seconds = 0;
  Facts facts = {};
};

class AccessLog {
 public:
  // Appends to a file, which is created if necessary; "-" is standard error, "" disables the log.
  // Throws kIo if the file cannot be opened.
  explicit AccessLog(const std::string& path);
  // Writes the remaining lines.
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  // Without memory for a line, it is lost.
  void write(const LogEntry& entry) noexcept;
  // An event of the server: {"time": ..., "event": ..., "message": ...}.
  void event(std::string_view what, std::string_view message) noexcept;
  // The number of lines that could not be written.
  std::size_t lost() const { return lost_.load(); }

 private:
  template <typename Make>
  void add(Make make) noexcept;
  void work();
  std::string_view write_out(std::string_view lines);
  std::string_view write_bytes(std::string_view bytes) const;

  int fd_ = -1;
  bool owned_ = false;
  bool cut_ = false;  // the file ends in the middle of a line; the thread's
  std::mutex mutex_;
  std::condition_variable added_;
  std::string waiting_;
  bool stop_ = false;
  std::atomic<std::size_t> lost_{0};
  std::thread thread_;
};

}  // namespace limpid::serve
