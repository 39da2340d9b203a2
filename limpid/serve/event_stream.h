// EventStream: a response as server-sent events, for browsers' EventSource and OpenAI clients
// (WHATWG HTML, 9.2). Depends on http.h.
#pragma once

#include <memory>
#include <string_view>

#include "limpid/serve/http.h"

namespace limpid::serve {

class EventStream {
 public:
  // Begins the response. An endless one ends when the client disconnects or the server stops.
  explicit EventStream(std::shared_ptr<Answer> answer, bool endless = false);

  // Sends an event; `data` may have several lines, `name` and `id` must have no line ends. An empty
  // `name` means "message". A client that reconnects sends the last non-empty `id` as
  // Last-Event-ID. Returns false as Answer::part().
  bool event(std::string_view data, std::string_view name = {}, std::string_view id = {});
  // Sends a comment line, which clients ignore, to keep an idle stream open through proxies.
  bool beat();
  // Bytes that the client has not received yet.
  std::size_t unsent() const { return answer_->unsent(); }
  void end(Facts facts = {});

 private:
  std::shared_ptr<Answer> answer_;
};

}  // namespace limpid::serve
