#include "limpid/serve/text_rows.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <span>
#include <utility>

#include "limpid/serve/completions.h"
#include "limpid/serve/http_error.h"

namespace limpid::serve {
namespace {

// The jobs of one request: one for each padded length.
class RowsUnderWay {
 public:
  RowsUnderWay(std::size_t texts, std::size_t width, std::size_t jobs,
               std::function<void(TextRows&)> done)
      : width_(width), left_(jobs), done_(std::move(done)) {
    rows_.values.resize(texts * width);
  }

  // Called for each job, by any thread.
  void take(const std::vector<std::size_t>& texts, const Batcher::Result& result) {
    bool last = false;
    {
      const std::lock_guard lock(mutex_);
      if (result.error) {
        if (!rows_.error) rows_.error = result.error;
      } else {
        const std::span<const float> rows = result.outputs[0].values<float>();
        for (std::size_t r = 0; r < texts.size(); ++r)
          std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(r * width_), width_,
                      rows_.values.begin() + static_cast<std::ptrdiff_t>(texts[r] * width_));
      }
      rows_.queue_seconds = std::max(rows_.queue_seconds, result.queue_seconds);
      rows_.compute_seconds += result.compute_seconds;
      last = --left_ == 0;
    }
    if (last) done_(rows_);
  }

 private:
  const std::size_t width_;
  std::mutex mutex_;
  TextRows rows_;
  std::size_t left_;
  const std::function<void(TextRows&)> done_;
};

}  // namespace

void compute_rows(const TextEmbedder::Pairs& texts, const EncoderService& service,
                  const std::shared_ptr<Ticket>& ticket, Batcher& batcher,
                  std::function<void(TextRows&)> done) {
  const TextEmbedder& embedder = *service.embedder;
  std::map<std::int64_t, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < texts.texts.size(); ++i)
    places[embedder.net().padded(static_cast<std::int64_t>(texts.texts[i].size()))].push_back(i);
  const auto rows =
      std::make_shared<RowsUnderWay>(texts.texts.size(), static_cast<std::size_t>(embedder.size()),
                                     places.size(), std::move(done));
  for (const auto& [length, numbers] : places) {
    const bool taken = batcher.submit(
        service.lanes.at(length),
        TextEmbedder::padded_inputs(texts.texts, numbers, length, texts.seconds),
        static_cast<std::int64_t>(numbers.size()), ticket,
        [rows, taking = numbers](const Batcher::Result& result) { rows->take(taking, result); });
    if (!taken) {
      ticket->give_up();  // the jobs that wait are dropped
      throw HttpError(503, "the queue is full", {{"Retry-After", "1"}});
    }
  }
}

void send_rows(Answer& answer, TextRows& rows, const std::function<Response()>& response) noexcept {
  try {
    try {
      if (rows.error) std::rethrow_exception(rows.error);
      answer.send(response());
    } catch (...) {
      answer.send(openai_error(to_http_error(std::current_exception())));
    }
  } catch (...) {
    // Without memory for the error, the end of the answer closes the connection.
  }
}

}  // namespace limpid::serve
