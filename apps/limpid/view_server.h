// The page of `limpid view` and its requests, behind limpid/serve: who may ask, which function
// answers, and on which thread. Leans on limpid/view and limpid/serve.
#pragma once

#include <condition_variable>
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

// 32 hexadecimal digits that nobody can guess. Throws kIo where the system has no random numbers.
std::string random_token();

class ViewServer {
 public:
  ViewServer(view::Session& session, const std::string& token);
  ~ViewServer();
  ViewServer(const ViewServer&) = delete;
  ViewServer& operator=(const ViewServer&) = delete;

  // The port that is listened on: requests for other hosts are refused, whatever name leads here.
  void set_port(std::uint16_t port) { port_ = port; }

  // Throws HttpError for a request of another host, and for one of /api/ without the token.
  void admit(const serve::Request& head) const;
  void answer(serve::Request request, std::shared_ptr<serve::Answer> answer);

 private:
  // A page that follows a run.
  struct Follower {
    std::string run = {};
    std::int64_t cursor = 0;
    std::unique_ptr<serve::EventStream> stream = {};
    std::optional<view::RunState> state = {};  // that was said last
    int silent = 0;                            // rounds
  };

  void file(const serve::Request& request, serve::Answer& answer) const;
  void open(const serve::Request& request, const std::shared_ptr<serve::Answer>& answer);
  void follow(const serve::Request& request, std::shared_ptr<serve::Answer> answer);
  void tell_followers();

  view::Session& session_;
  serve::BearerToken token_;
  std::uint16_t port_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Follower> followers_;
  bool ends_ = false;
  std::thread teller_;

  // Last, so that they end first: their tasks use all of it.
  serve::Worker quick_, slow_;
};

}  // namespace limpid::tool
