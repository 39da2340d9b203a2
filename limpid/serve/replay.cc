#include "limpid/serve/replay.h"

#include <fmt/format.h>

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "limpid/core/error.h"
#include "limpid/serve/completions.h"
#include "limpid/serve/embeddings.h"
#include "limpid/serve/http_error.h"
#include "limpid/serve/models.h"
#include "limpid/serve/rank.h"

namespace limpid::serve {
namespace {

// Receives a whole response.
class KeptAnswer final : public Answer {
 public:
  void send(Response response) override { kept_.set_value(std::move(response)); }
  void begin(Response) override {}
  bool part(std::string) override { return false; }
  std::size_t unsent() const override { return 0; }
  void end(Facts) override {}

  Response take() { return kept_.get_future().get(); }

 private:
  std::promise<Response> kept_;
};

bool is_chat(const Json& request) { return request.contains("messages"); }

bool asks_for_embeddings(const Json& request) { return request.contains("input"); }

bool asks_for_ranks(const Json& request) { return request.contains("query"); }

std::shared_ptr<const ServedModel> text_model(Models& models, const std::string& name, bool embeds,
                                              bool ranks) {
  models.add(name + "=" + name);
  models.load(name);
  std::shared_ptr<const ServedModel> model = models.find(name);
  if (embeds && !model->embedding)
    throw Error(ErrorCode::kInvalidArgument,
                "the request asks for embeddings: the model gives none");
  if (ranks && !model->ranking)
    throw Error(ErrorCode::kInvalidArgument,
                "the request asks for a ranking: the model gives none");
  if (!embeds && !ranks && !model->language)
    throw Error(ErrorCode::kInvalidArgument, "the request asks for a text: the model writes none");
  return model;
}

// Whole, but for vectors.
std::string shown(const Json& value) {
  return value.is_array() ? brief(value) : value.dump({.replace_invalid = true});
}

}  // namespace

bool is_text_request(const Json& request) {
  return request.is_object() && !request.contains("inputs") && request.contains("model");
}

Replayed replay(const Model& model, Json request, ThreadPool* pool) {
  const Limits limits;
  Metrics metrics;
  Batcher batcher({});
  Scheduler scheduler({.max_queue = limits.queue});
  Models models({.open = [&](const std::string&) { return model; }, .pool = pool, .max_texts = 1},
                batcher, scheduler, metrics);
  const bool embeds = asks_for_embeddings(request), ranks = asks_for_ranks(request);
  std::shared_ptr<const ServedModel> served = text_model(models, "model", embeds, ranks);
  if (!embeds && !ranks) request["stream"] = false;
  const auto answer = std::make_shared<KeptAnswer>();
  Response response;
  try {
    const auto ticket = std::make_shared<Ticket>();
    if (embeds) {
      embed(parse_embeddings(request, *served->embedding, limits), served, ticket, answer, batcher);
      batcher.wake();
    } else if (ranks) {
      rank(parse_rank(request, *served->ranking, limits), served, ticket, answer, batcher);
      batcher.wake();
    } else {
      CompletionRequest asked = is_chat(request)
                                    ? parse_chat(request, *served->language, limits)
                                    : parse_completion(request, *served->language, limits);
      complete(std::move(asked), served, ticket, answer, scheduler, metrics);
    }
    response = answer->take();
  } catch (const HttpError& error) {
    throw Error(ErrorCode::kFormat, error.what());
  }
  Replayed again{.answer = Json::parse(response.body, kWholeResponse), .receipt = {}};
  if (response.status != 200)  // it has no receipt
    throw Error(ErrorCode::kInvalidArgument, again.answer.at("error").at("message").as_string());
  for (const Header& header : response.headers)
    if (header.name == "Limpid-Receipt") again.receipt = parse_receipt(header.value);
  return again;
}

void check_text(const Replayed& again, const Json& answer) {
  const char* key = "data";
  for (const char* const other : {"choices", "results"})
    if (again.answer.contains(other)) key = other;
  const Json::Array& here = again.answer.at(key).elements();
  const Json::Array& there = answer.at(key).elements();
  if (here.size() != there.size())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("no: {} texts here, the answer has {}", here.size(), there.size()));
  for (std::size_t i = 0; i < here.size(); ++i)
    for (const Json::Member& member : here[i].members())
      if (const Json* const other = there[i].find(member.key); !other || *other != member.value)
        throw Error(ErrorCode::kInvalidArgument,
                    fmt::format("no: {} of text {} is {} here, the answer has {}", member.key, i,
                                shown(member.value), other ? shown(*other) : "none"));
}

}  // namespace limpid::serve
