#include "limpid/serve/rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "limpid/core/arithmetic.h"
#include "limpid/core/error.h"
#include "limpid/inspect/bit_hashes.h"
#include "limpid/serve/http_error.h"
#include "limpid/serve/members.h"
#include "limpid/serve/receipt.h"
#include "limpid/serve/text_rows.h"

namespace limpid::serve {
namespace {

constexpr std::size_t kMostDocuments = 2048;
constexpr std::string_view kRankMembers[] = {"model", "query",    "documents",       "top_n",
                                             "user",  "truncate", "return_documents"};

bool rank_switch(const Json& body, std::string_view key) {
  const auto value = member(body, key);
  return value && value->as_bool();
}

// A text, or the text of an object.
std::string text_of_document(const JsonView& document) {
  const std::string text =
      document.value().is_object() ? document.at("text").as_string() : document.as_string();
  if (text.empty())
    throw HttpError(400, fmt::format("{}: expected a text, got an empty one", document.path()));
  return text;
}

Response ranked(const RankRequest& request, const ServedModel& model, const TextRows& rows) {
  const std::vector<float>& logits = rows.values;
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // A NaN is least relevant.
  const auto key = [&](std::size_t i) {
    return std::isnan(logits[i]) ? -std::numeric_limits<float>::infinity() : logits[i];
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) > key(b); });
  order.resize(std::min(order.size(), request.top));
  std::size_t tokens = 0;
  std::vector<Tensor> inputs;
  for (const std::vector<std::int32_t>& pair : request.pairs.texts) {
    tokens += pair.size();
    inputs.push_back(Tensor::from<std::int32_t>({static_cast<std::int64_t>(pair.size())}, pair));
  }
  Json results = Json::array();
  for (const std::size_t i : order) {
    Json one{{"index", i},
             {"relevance_score", static_cast<double>(arithmetic::sigmoid(logits[i]))}};
    if (!request.documents.empty()) one["document"] = {{"text", request.documents[i]}};
    results.push_back(std::move(one));
  }
  const Json body{{"object", "list"},
                  {"model", model.signature.name},
                  {"results", std::move(results)},
                  {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}};
  const std::vector<Tensor> outputs{
      Tensor::from<float>({static_cast<std::int64_t>(logits.size())}, logits)};
  const Receipt receipt{.model = model.signature.hash,
                        .input = hash_of_numbers(inputs),
                        .output = hash_of_numbers(outputs)};
  Response response{.body = body.dump({.replace_invalid = true})};
  response.headers.push_back({"Limpid-Receipt", to_text(receipt)});
  response.facts = {.queue_seconds = rows.queue_seconds,
                    .compute_seconds = rows.compute_seconds,
                    .rows = static_cast<std::int64_t>(logits.size())};
  return response;
}

}  // namespace

RankRequest parse_rank(const Json& body, const EncoderService& model, const Limits& limits) {
  refuse_other_members(body, kRankMembers);
  const auto query = member(body, "query");
  const auto documents = member(body, "documents");
  if (!query || query->as_string().empty()) throw HttpError(400, "query: expected a text");
  if (!documents || documents->elements().empty())
    throw HttpError(400, "documents: expected a list of texts");
  const auto most = std::min<std::size_t>(static_cast<std::size_t>(limits.rows), kMostDocuments);
  const std::vector<JsonView> elements = documents->elements();
  if (elements.size() > most)
    throw HttpError(413,
                    fmt::format("documents: expected at most {}, got {}", most, elements.size()));
  RankRequest request{.top = elements.size()};
  for (const JsonView& element : elements) request.documents.push_back(text_of_document(element));
  if (const auto top = member(body, "top_n"))
    request.top = static_cast<std::size_t>(top->as_integer(1, std::int64_t{1} << 32));
  try {
    request.pairs =
        model.embedder->pairs(query->as_string(), request.documents, rank_switch(body, "truncate"));
  } catch (const Error& error) {
    throw HttpError(400, error.what());
  }
  if (!rank_switch(body, "return_documents")) request.documents.clear();
  return request;
}

void rank(RankRequest request, std::shared_ptr<const ServedModel> model,
          const std::shared_ptr<Ticket>& ticket, const std::shared_ptr<Answer>& answer,
          Batcher& batcher) {
  const auto asked = std::make_shared<const RankRequest>(std::move(request));
  compute_rows(asked->pairs, *model->ranking, ticket, batcher, [=](TextRows& rows) {
    send_rows(*answer, rows, [&] { return ranked(*asked, *model, rows); });
  });
}

}  // namespace limpid::serve
