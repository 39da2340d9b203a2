// EventStream: an answer as server-sent events, as browsers' EventSource and OpenAI's clients read
// them (WHATWG HTML, 9.2). Leans on http.h.
#pragma once

#include <memory>
#include <string_view>

#include "limpid/serve/http.h"

namespace limpid::serve {

class EventStream {
 public:
  // Begins the answer. An endless one ends with its client or the server.
  explicit EventStream(std::shared_ptr<Answer> answer, bool endless = false);

  // An event; its data may have several lines. `name` is "message" to a client where it is empty,
  // and has no line ends. False as Answer::part() has it.
  bool event(std::string_view data, std::string_view name = {});
  // A line that clients skip, which keeps a silent stream open through proxies.
  bool beat();
  // Bytes that the client has not taken yet.
  std::size_t unsent() const { return answer_->unsent(); }
  void end(Facts facts = {});

 private:
  std::shared_ptr<Answer> answer_;
};

}  // namespace limpid::serve
