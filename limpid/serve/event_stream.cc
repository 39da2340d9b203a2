#include "limpid/serve/event_stream.h"

#include <string>

namespace limpid::serve {

EventStream::EventStream(std::shared_ptr<Answer> answer, bool endless)
    : answer_(std::move(answer)) {
  answer_->begin({.content_type = "text/event-stream",
                  // The second turns off nginx's buffering.
                  .headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}},
                  .endless = endless});
}

bool EventStream::event(std::string_view data, std::string_view name, std::string_view id) {
  std::string text;
  if (!id.empty()) text.append("id: ").append(id).append("\n");
  if (!name.empty()) text.append("event: ").append(name).append("\n");
  for (;;) {
    // Lines end with CR LF, LF or CR.
    const std::size_t end = data.find_first_of("\r\n");
    text.append("data: ").append(data.substr(0, end)).append("\n");
    if (end == std::string_view::npos) break;
    data.remove_prefix(end + (data.substr(end).starts_with("\r\n") ? 2 : 1));
  }
  return answer_->part(text + "\n");
}

bool EventStream::beat() { return answer_->part(":\n\n"); }

void EventStream::end(Facts facts) { answer_->end(std::move(facts)); }

}  // namespace limpid::serve
