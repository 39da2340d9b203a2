#include "limpid/serve/embeddings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "limpid/core/base64.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/inspect/bit_hashes.h"
#include "limpid/serve/http_error.h"
#include "limpid/serve/infer_v2.h"
#include "limpid/serve/members.h"
#include "limpid/serve/receipt.h"
#include "limpid/serve/text_rows.h"

namespace limpid::serve {
namespace {

constexpr std::size_t kMostTexts = 2048;
constexpr std::string_view kMembers[] = {"model",      "input", "encoding_format",
                                         "dimensions", "user",  "truncate"};

[[noreturn]] void refuse_input(const std::string& path, const Error& error) {
  throw HttpError(400, fmt::format("{}: {}", path, error.what()));
}

std::vector<std::int32_t> tokens_of_text(const TextEmbedder& embedder, const JsonView& text,
                                         bool truncate) {
  if (text.as_string().empty())
    throw HttpError(400, fmt::format("{}: expected a text, got an empty one", text.path()));
  try {
    return embedder.tokens(text.as_string(), truncate);
  } catch (const Error& error) {
    refuse_input(text.path(), error);
  }
}

std::vector<std::int32_t> tokens_of_list(const TextEmbedder& embedder, const JsonView& list) {
  std::vector<std::int32_t> tokens;
  for (const JsonView& token : list.elements())
    tokens.push_back(static_cast<std::int32_t>(token.as_integer(0, embedder.net().vocabulary - 1)));
  try {
    embedder.check_tokens(tokens);
  } catch (const Error& error) {
    refuse_input(list.path(), error);
  }
  return tokens;
}

// A text, a list of tokens, or a list of either.
std::vector<std::vector<std::int32_t>> texts_of_input(const JsonView& input,
                                                      const TextEmbedder& embedder, bool truncate,
                                                      std::int64_t most) {
  if (input.value().is_string()) return {tokens_of_text(embedder, input, truncate)};
  const std::vector<JsonView> elements = input.elements();
  if (elements.empty())
    throw HttpError(400, "input: expected a text or a list of tokens or texts, got an empty list");
  if (elements.front().value().is_number()) return {tokens_of_list(embedder, input)};
  if (static_cast<std::int64_t>(elements.size()) > most)
    throw HttpError(413,
                    fmt::format("input: expected at most {} texts, got {}", most, elements.size()));
  std::vector<std::vector<std::int32_t>> texts;
  for (const JsonView& one : elements)
    texts.push_back(one.value().is_string() ? tokens_of_text(embedder, one, truncate)
                                            : tokens_of_list(embedder, one));
  return texts;
}

// Brings the first elements of a vector to length 1 again, as for models whose first elements were
// trained as an embedding, too (Kusupati et al. 2022).
void bring_to_length_1(std::span<float> vector) {
  double squares = 0;
  for (const float x : vector) squares += static_cast<double>(x) * static_cast<double>(x);
  if (squares == 0) return;
  const double norm = std::sqrt(squares);
  for (float& x : vector) x = static_cast<float>(static_cast<double>(x) / norm);
}

// One request under way.
class Embedding {
 public:
  Embedding(EmbeddingRequest request, std::shared_ptr<const ServedModel> model)
      : request_(std::move(request)), model_(std::move(model)) {}

  Response response(TextRows& rows) const {
    const std::size_t size = static_cast<std::size_t>(request_.size);
    const bool shortened = size < width();
    std::vector<Tensor> tokens, vectors;
    std::string json = R"({"object":"list","data":[)";
    std::size_t count = 0;
    for (std::size_t i = 0; i < request_.texts.size(); ++i) {
      const std::span<float> vector = std::span(rows.values).subspan(i * width(), size);
      if (shortened && model_->embedding->embedder->net().normalize) bring_to_length_1(vector);
      tokens.push_back(Tensor::from<std::int32_t>(
          {static_cast<std::int64_t>(request_.texts[i].size())}, request_.texts[i]));
      vectors.push_back(
          Tensor::from<float>({request_.size}, std::vector<float>(vector.begin(), vector.end())));
      count += request_.texts[i].size();
      json +=
          fmt::format(R"({}{{"object":"embedding","index":{},"embedding":)", i == 0 ? "" : ",", i);
      if (request_.base64) {
        json += '"' + base64(vectors.back().bytes()) + '"';
      } else {
        json += '[';
        write_numbers(json, vectors.back());
        json += ']';
      }
      json += '}';
    }
    json += fmt::format(R"(],"model":{},"usage":{{"prompt_tokens":{},"total_tokens":{}}}}})",
                        Json(model_->signature.name).dump({.replace_invalid = true}), count, count);
    const Receipt receipt{.model = model_->signature.hash,
                          .input = hash_of_numbers(tokens),
                          .output = hash_of_numbers(vectors)};
    Response response{.body = std::move(json)};
    response.headers.push_back({"Limpid-Receipt", to_text(receipt)});
    response.facts = {.queue_seconds = rows.queue_seconds,
                      .compute_seconds = rows.compute_seconds,
                      .rows = static_cast<std::int64_t>(request_.texts.size())};
    return response;
  }

 private:
  std::size_t width() const {
    return static_cast<std::size_t>(model_->embedding->embedder->net().width);
  }

  const EmbeddingRequest request_;
  const std::shared_ptr<const ServedModel> model_;
};

}  // namespace

EmbeddingRequest parse_embeddings(const Json& body, const EncoderService& model,
                                  const Limits& limits) {
  const TextEmbedder& embedder = *model.embedder;
  refuse_other_members(body, kMembers);
  EmbeddingRequest request{.texts = {}, .size = embedder.net().width};
  if (const auto format = member(body, "encoding_format")) {
    request.base64 = format->value() == "base64";
    if (!request.base64 && format->value() != "float")
      throw HttpError(400, fmt::format("encoding_format: expected float or base64, got {}",
                                       brief(format->value())));
  }
  if (const auto size = member(body, "dimensions"))
    request.size = size->as_integer(1, embedder.net().width);
  const auto truncate = member(body, "truncate");
  const auto input = member(body, "input");
  if (!input) throw HttpError(400, "input: expected a text or a list of tokens or texts");
  const std::size_t bytes = static_cast<std::size_t>(request.size) * sizeof(float);
  const auto most = std::min<std::int64_t>(
      limits.rows,
      static_cast<std::int64_t>(std::min<std::size_t>(limits.answer / bytes, kMostTexts)));
  request.texts = texts_of_input(*input, embedder, truncate && truncate->as_bool(), most);
  return request;
}

void embed(EmbeddingRequest request, std::shared_ptr<const ServedModel> model,
           const std::shared_ptr<Ticket>& ticket, const std::shared_ptr<Answer>& answer,
           Batcher& batcher) {
  const TextEmbedder::Pairs texts{request.texts, {}};
  const EncoderService& service = *model->embedding;
  const auto embedding = std::make_shared<const Embedding>(std::move(request), std::move(model));
  compute_rows(texts, service, ticket, batcher, [=](TextRows& rows) {
    send_rows(*answer, rows, [&] { return embedding->response(rows); });
  });
}

}  // namespace limpid::serve
