// limpid tokenize: the tokens of a text, by the tokenizer of a folder or a model.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "apps/limpid/support/command.h"
#include "apps/limpid/support/model_file.h"
#include "apps/limpid/support/output.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/data/text/text.h"
#include "limpid/data/text/tokenizer_files.h"
#include "limpid/inspect/table.h"
#include "limpid/models/open_model.h"
#include "limpid/models/prompt.h"

namespace limpid::tool {
namespace {

struct TokenizeArguments {
  ModelOptions model;
  std::string text, file;
  bool plain = false, json = false;
};

// That of a folder of files, whether or not its model can be read; else a model's.
Tokenizer tokenizer_at(const ModelOptions& model) {
  if (is_folder_path(model.path))
    if (std::optional<Tokenizer> tokenizer = load_tokenizer(model.path)) return *tokenizer;
  return tokenizer_of(open_model(model));
}

void tokenize(const TokenizeArguments& options) {
  if (options.text.empty() == options.file.empty())
    throw UsageError("expected one of --text and --file");
  const Tokenizer tokenizer = tokenizer_at(options.model);
  const std::string text = options.file.empty() ? options.text : load_bytes(options.file);
  const TextTokens tokens =
      tokenizer.tokens(text, {.special = !options.plain, .whole = !options.plain, .spans = true});
  Json list = Json::array();
  Table table{{{"token", Align::kRight}, {"bytes", Align::kRight}, {"text"}}, {}};
  for (std::size_t i = 0; i < tokens.ids.size(); ++i) {
    const std::int32_t id = tokens.ids[i];
    const auto [begin, end] = tokens.spans[i];
    const std::string piece = tokenizer.decode({&id, 1});
    list.push_back({{"token", id}, {"begin", begin}, {"end", end}, {"text", piece}});
    table.rows.push_back(
        {fmt::format("{}", id), fmt::format("{}..{}", begin, end), in_quotes(piece)});
  }
  if (options.json)
    return print_json(
        Json{{"kind", tokenizer.kind()}, {"size", tokenizer.size()}, {"tokens", list}});
  print(to_text(table));
}

}  // namespace

void add_tokenize(Command& app) {
  auto options = std::make_shared<TokenizeArguments>();
  Command command = app.command(
      "tokenize", "Print the tokens of a text: number, bytes of the text, and what it decodes to");
  add_model_option(command, options->model);
  command.option("--text", options->text, "Text");
  command.option("--file", options->file, "File with the text");
  command.flag("--plain", options->plain,
               "Special tokens in the text stay text, and no BOS or the like is added");
  command.flag("--json", options->json, "Print JSON");
  command.run([options] { tokenize(*options); });
}

}  // namespace limpid::tool
