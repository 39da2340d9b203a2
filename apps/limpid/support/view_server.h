// Serves the page of `limpid view` and its requests by limpid/serve: access control, dispatch to
// handlers, and threads. Depends on limpid/view and limpid/serve.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "limpid/serve/bearer_token.h"
#include "limpid/serve/event_stream.h"
#include "limpid/serve/http.h"
#include "limpid/serve/worker.h"
#include "limpid/view/runs.h"
#include "limpid/view/session.h"

namespace limpid::tool {

// A random token of 32 hexadecimal digits. Throws kIo if the system has no random numbers.
std::string random_token();

class ViewServer {
 public:
  ViewServer(view::Session& session, const std::string& token);
  ~ViewServer();
  ViewServer(const ViewServer&) = delete;
  ViewServer& operator=(const ViewServer&) = delete;

  // Throws HttpError for a request to /api/ without the token.
  void admit(const serve::Request& head) const;
  void answer(serve::Request request, std::shared_ptr<serve::Answer> answer);

 private:
  // A run that a page follows, as sent last.
  struct Followed {
    std::string run = {};
    std::int64_t cursor = 0;
    std::optional<view::RunState> state = {};
    std::string error = {};
  };
  // A page that follows runs, all by one stream: a browser has only six connections to a server.
  struct Follower {
    std::vector<Followed> runs = {};
    std::unique_ptr<serve::EventStream> stream = {};
    int silent = 0;  // rounds without an event
  };

  template <class Task>
  auto until_given_up(std::shared_ptr<const serve::Ticket> ticket, Task task) const;
  void file(const serve::Request& request, serve::Answer& answer) const;
  void open(const serve::Request& request, const std::shared_ptr<serve::Answer>& answer);
  void follow(const serve::Request& request, std::shared_ptr<serve::Answer> answer);
  void tell_followers();
  bool tell(Follower& follower);

  view::Session& session_;
  serve::BearerToken token_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Follower> followers_;
  std::size_t following_ =
      0;  // all followers; the teller takes them out of followers_ to tell them
  std::atomic<bool> ends_ = false;
  std::thread teller_;

  // Declared last, so that they are destroyed first: their tasks use the other members. Slow
  // requests share the CPUs and each has its own bound of memory, so they are few at a time.
  static constexpr int kSlowThreads = 4;
  serve::Worker quick_, actions_, slow_{kSlowThreads};
};

}  // namespace limpid::tool
