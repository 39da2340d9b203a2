#include "limpid/serve/access_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <ctime>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/json.h"

namespace limpid::serve {
namespace {

// Bytes of lines not yet written; further lines are lost.
constexpr std::size_t kMostWaiting = std::size_t{4} << 20;

std::string now() {
  using std::chrono::milliseconds, std::chrono::system_clock;
  const auto time = system_clock::now();
  const auto millis =
      std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count() % 1000;
  const std::time_t seconds = system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     millis);
}

double microseconds(double seconds) { return std::round(seconds * 1e6) / 1e6; }

}  // namespace

AccessLog::AccessLog(const std::string& path) {
  if (path.empty()) return;
  owned_ = path != "-";
  fd_ = owned_ ? ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640)
               : STDERR_FILENO;
  if (fd_ < 0)
    throw Error(ErrorCode::kIo, fmt::format("access log {}: it cannot be opened", in_quotes(path)));
  thread_ = std::thread([this] { work(); });
}

AccessLog::~AccessLog() {
  if (fd_ < 0) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  added_.notify_one();
  thread_.join();
  if (owned_) ::close(fd_);
}

void AccessLog::write(const LogEntry& entry) noexcept {
  add([&] {
    Json line{{"time", now()},
              {"client", entry.client},
              {"method", entry.method},
              {"target", entry.target.substr(0, 256)},
              {"status", entry.status},
              {"in", entry.request_bytes},
              {"out", entry.answer_bytes},
              {"seconds", microseconds(entry.seconds)}};
    const Facts& facts = entry.facts;
    if (!facts.model.empty()) {
      line["model"] = facts.model;
      line["queue_seconds"] = microseconds(facts.queue_seconds);
      line["compute_seconds"] = microseconds(facts.compute_seconds);
    }
    if (facts.rows > 0) line["rows"] = facts.rows;
    return line;
  });
}

void AccessLog::event(std::string_view what, std::string_view message) noexcept {
  add([&] { return Json{{"time", now()}, {"event", what}, {"message", message}}; });
}

template <typename Make>
void AccessLog::add(Make make) noexcept {
  if (fd_ < 0) return;
  try {
    const std::string line = make().dump({.ascii = true, .replace_invalid = true}) + '\n';
    const std::lock_guard lock(mutex_);
    if (waiting_.size() + line.size() > kMostWaiting)
      ++lost_;
    else
      waiting_ += line;
  } catch (...) {
    ++lost_;
  }
  added_.notify_one();
}

void AccessLog::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    added_.wait(lock, [&] { return stop_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    std::string lines;
    lines.swap(waiting_);
    lock.unlock();
    const std::string_view rest = write_out(lines);
    lost_ += static_cast<std::size_t>(std::count(rest.begin(), rest.end(), '\n'));
    lock.lock();
  }
}

// Returns what could not be written. If a full disk has cut a line, ends it before the next one.
std::string_view AccessLog::write_out(std::string_view lines) {
  if (cut_ && !write_bytes("\n").empty()) return lines;
  const std::string_view rest = write_bytes(lines);
  const std::string_view done = lines.substr(0, lines.size() - rest.size());
  cut_ = !done.empty() && done.back() != '\n';
  return rest;
}

// Returns the bytes that were not written.
std::string_view AccessLog::write_bytes(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return bytes;
}

}  // namespace limpid::serve
