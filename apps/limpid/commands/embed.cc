// limpid embed: the embeddings of texts, or the probabilities of their classes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "apps/limpid/support/command.h"
#include "apps/limpid/support/model_file.h"
#include "apps/limpid/support/output.h"
#include "apps/limpid/support/threads.h"
#include "limpid/core/arithmetic.h"
#include "limpid/core/in_quotes.h"
#include "limpid/data/text/text.h"
#include "limpid/inspect/table.h"
#include "limpid/models/open_model.h"
#include "limpid/models/text_embedder.h"

namespace limpid::tool {
namespace {

struct EmbedArguments {
  ModelOptions model;
  std::vector<std::string> texts;
  std::string file, query;
  bool truncate = false, json = false;
  int threads = 1;
};

std::vector<std::string> texts_to_embed(const EmbedArguments& options) {
  if (options.texts.empty() == options.file.empty())
    throw UsageError("expected one of --text and --file");
  if (options.file.empty()) return options.texts;
  const std::string file = load_bytes(options.file);
  const std::vector<std::string_view> lines = limpid::lines_of(file);
  return {lines.begin(), lines.end()};
}

// From the logits, by a function of f32 that has the same bits on every machine.
std::vector<double> probabilities(std::span<const float> logits) {
  if (logits.size() == 1) return {static_cast<double>(arithmetic::sigmoid(logits.front()))};
  const float most = *std::max_element(logits.begin(), logits.end());
  std::vector<double> all;
  double sum = 0;
  for (const float logit : logits) {
    all.push_back(static_cast<double>(arithmetic::exp(logit - most)));
    sum += all.back();
  }
  for (double& p : all) p /= sum;
  return all;
}

std::string label_of_class(const TextEmbedder& embedder, std::size_t i) {
  return embedder.labels().empty() ? fmt::format("{}", i) : embedder.labels()[i];
}

double product(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

double cosine(std::span<const float> a, std::span<const float> b) {
  return product(a, b) / std::sqrt(product(a, a) * product(b, b));
}

// Each text with the probabilities of its classes, or with how near it is to the first one.
Table table_of_texts(const TextEmbedder& embedder, const std::vector<std::string>& texts,
                     const std::vector<std::vector<std::int32_t>>& tokens,
                     std::span<const float> rows) {
  const auto size = static_cast<std::size_t>(embedder.size());
  const bool classes = embedder.net().classes > 0;
  Table table{{{"tokens", Align::kRight}}, {}};
  if (classes)
    for (std::size_t i = 0; i < size; ++i)
      table.columns.push_back({label_of_class(embedder, i), Align::kRight});
  else
    table.columns.push_back({"cosine to the first", Align::kRight});
  table.columns.push_back({"text"});
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::vector<std::string> cells{fmt::format("{}", tokens[i].size())};
    const std::span<const float> row = rows.subspan(i * size, size);
    if (classes)
      for (const double p : probabilities(row)) cells.push_back(fmt::format("{:.4f}", p));
    else
      cells.push_back(fmt::format("{:.4f}", cosine(row, rows.first(size))));
    cells.push_back(in_quotes(texts[i]));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Json json_of_texts(const TextEmbedder& embedder, const std::vector<std::string>& texts,
                   const std::vector<std::vector<std::int32_t>>& tokens,
                   std::span<const float> rows) {
  const auto size = static_cast<std::size_t>(embedder.size());
  Json list = Json::array();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::span<const float> row = rows.subspan(i * size, size);
    Json one{{"text", texts[i]}, {"tokens", tokens[i].size()}};
    if (embedder.net().classes > 0) {
      const std::vector<double> all = probabilities(row);
      for (std::size_t k = 0; k < size; ++k) one["classes"][label_of_class(embedder, k)] = all[k];
    } else {
      one["embedding"] = std::vector<double>(row.begin(), row.end());
    }
    list.push_back(std::move(one));
  }
  return {{"texts", std::move(list)}};
}

void embed(const EmbedArguments& options) {
  const std::vector<std::string> texts = texts_to_embed(options);
  ThreadPool pool({.threads = options.threads});
  const TextEmbedder embedder(open_model(options.model), {.pool = &pool});
  TextEmbedder::Pairs all;
  if (options.query.empty())
    for (const std::string& text : texts)
      all.texts.push_back(embedder.tokens(text, options.truncate));
  else if (embedder.net().classes > 0)
    all = embedder.pairs(options.query, texts, options.truncate);
  else
    throw UsageError("--query: expected a model with classes, which reads two texts as one");
  const std::vector<std::vector<std::int32_t>>& tokens = all.texts;
  const Tensor rows = embedder(all);
  if (options.json) return print_json(json_of_texts(embedder, texts, tokens, rows.values<float>()));
  print(to_text(table_of_texts(embedder, texts, tokens, rows.values<float>())));
}

}  // namespace

void add_embed(Command& app) {
  auto options = std::make_shared<EmbedArguments>();
  Command command = app.command(
      "embed", "Print the embeddings of texts by a text encoder, or the probabilities of classes");
  add_model_option(command, options->model);
  command.option("--text", options->texts, "Text; may be repeated");
  command.option("--file", options->file, "File with a text on each line");
  command.option("--query", options->query,
                 "Text that is read with each of the others, by a cross-encoder");
  command.flag("--truncate", options->truncate,
               "A text of more tokens than the model takes loses its last ones");
  add_threads_option(command, options->threads);
  command.flag("--json", options->json, "Print JSON, with the whole embeddings");
  command.run([options] { embed(*options); });
}

}  // namespace limpid::tool
