// limpid generate: a text that a language model goes on with.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/limpid/character_stream.h"
#include "apps/limpid/command.h"
#include "apps/limpid/examples.h"
#include "apps/limpid/model_file.h"
#include "apps/limpid/output.h"
#include "apps/limpid/prompt.h"
#include "apps/limpid/threads.h"
#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/formats/in_quotes.h"
#include "limpid/nn/decoder.h"
#include "limpid/nn/gpt.h"
#include "limpid/nn/sampling.h"

namespace limpid::tool {
namespace {

struct Options {
  ModelOptions model;
  std::optional<std::string> prompt;
  std::int64_t tokens = 500;
  std::int64_t sequences = 1;
  nn::Sampling sampling;
  std::uint64_t seed = 0;
  int threads = 1;
};

// Draw i of a sequence, which is the one that the seed + sequence draws alone.
Key key_of_draw(const Options& options, std::int64_t sequence, std::int64_t i) {
  return Key(options.seed + static_cast<std::uint64_t>(sequence))
      .fold_in(static_cast<std::uint64_t>(i));
}

// What stands before a text that begins: the mark of where one begins or else of where the one
// before it ends, a line's end, or the first token where there is none.
std::vector<std::int32_t> beginning(const Tokenizer& tokenizer) {
  const Tokenizer::Marks& marks = tokenizer.marks();
  if (marks.begin || marks.end) return {marks.begin ? *marks.begin : *marks.end};
  try {
    return tokens_of_prompt(tokenizer, "\n");
  } catch (const Error&) {
    return {0};
  }
}

// One that draws the next token of every sequence.
using Draw = std::function<std::int32_t(std::int64_t sequence, std::span<const float> logits)>;

// ---- a model of a window of tokens

// As many tokens as the model sees: the last ones of the prompt, and before a short one its first
// again and again.
std::vector<std::int32_t> window_of(std::span<const std::int32_t> prompt, std::int64_t context) {
  const auto width = static_cast<std::size_t>(context);
  std::vector<std::int32_t> window(width - std::min(width, prompt.size()), prompt.front());
  const auto last = prompt.last(width - window.size());
  window.insert(window.end(), last.begin(), last.end());
  return window;
}

class WindowModel {
 public:
  WindowModel(const Options& options, const Model& model, std::int64_t vocabulary,
              std::span<const std::int32_t> prompt, ThreadPool& pool)
      : workspace_((check(options, model, vocabulary), compile(bound(model))), &pool),
        windows_(static_cast<std::size_t>(options.sequences),
                 window_of(prompt, data_input(model).type.shape.elements())),
        logits_(static_cast<std::size_t>(vocabulary)) {}

  void next(const Draw& draw) {
    for (std::size_t s = 0; s < windows_.size(); ++s) {
      const void* const in[] = {windows_[s].data()};
      void* const out[] = {logits_.data()};
      workspace_.run(in, out);
      std::rotate(windows_[s].begin(), windows_[s].begin() + 1, windows_[s].end());
      windows_[s].back() = draw(static_cast<std::int64_t>(s), logits_);
    }
  }

 private:
  static void check(const Options& options, const Model& model, std::int64_t vocabulary) {
    const Input& tokens = data_input(model);
    const Type& logits = model.function.type(model.function.outputs().front().value);
    if (tokens.type.dtype != Dtype::kI32 || tokens.type.shape.rank() != 1 ||
        !(logits == Type{Dtype::kF32, {vocabulary}}))
      throw Error(ErrorCode::kShape,
                  fmt::format("{}: goes from {} to {}, from tokens i32 to {} logits is expected",
                              in_quotes(options.model.path), to_string(tokens.type),
                              to_string(logits), vocabulary));
  }

  Workspace workspace_;
  std::vector<std::vector<std::int32_t>> windows_;
  std::vector<float> logits_;
};

// ---- a transformer

class CachedModel {
 public:
  CachedModel(const Options& options, const nn::Gpt& net, const Model& model,
              std::int64_t vocabulary, std::span<const std::int32_t> prompt, ThreadPool& pool)
      : decoder_(net, model.params,
                 {.sequences = options.sequences,
                  .capacity = room(options, net, prompt),
                  .pool = &pool}),
        vocabulary_(static_cast<std::size_t>(vocabulary)),
        drawn_(static_cast<std::size_t>(options.sequences)) {
    if (vocabulary > net.vocabulary)
      throw Error(ErrorCode::kShape,
                  fmt::format("{}: has {} tokens and logits of {}", in_quotes(options.model.path),
                              vocabulary, net.vocabulary));
    texts_.resize(drawn_.size());
    for (auto& text : texts_) {
      const auto last = prompt.last(std::min(prompt.size(), context()));
      text.assign(last.begin(), last.end());
    }
    decoder_.append(texts_);
  }

  void next(const Draw& draw) {
    for (std::size_t s = 0; s < drawn_.size(); ++s) {
      const auto sequence = static_cast<std::int64_t>(s);
      drawn_[s] = draw(sequence, decoder_.logits(sequence).first(vocabulary_));
      texts_[s].push_back(drawn_[s]);
    }
    if (texts_.front().size() <= context()) return decoder_.step(drawn_);
    // The net sees no more: it goes on from the later half.
    const std::size_t kept = std::max<std::size_t>(1, context() / 2);
    for (std::size_t s = 0; s < drawn_.size(); ++s) {
      texts_[s].erase(texts_[s].begin(), texts_[s].end() - static_cast<std::ptrdiff_t>(kept));
      decoder_.truncate(static_cast<std::int64_t>(s), 0);
    }
    decoder_.append(texts_);
  }

 private:
  // What the prompt and the drawn tokens take, where the net sees as many.
  static std::int64_t room(const Options& options, const nn::Gpt& net,
                           std::span<const std::int32_t> prompt) {
    return std::min(net.context, static_cast<std::int64_t>(prompt.size()) + options.tokens);
  }
  std::size_t context() const { return static_cast<std::size_t>(decoder_.capacity()); }

  nn::Decoder decoder_;
  std::size_t vocabulary_;
  std::vector<std::int32_t> drawn_;
  std::vector<std::vector<std::int32_t>> texts_;  // what each sequence sees
};

// ----

// The first sequence as it is drawn, the others behind it.
class Texts {
 public:
  Texts(const Options& options, const Tokenizer& tokenizer)
      : tokenizer_(tokenizer),
        prompt_(options.prompt.value_or("")),
        streams_(static_cast<std::size_t>(options.sequences)),
        later_(streams_.size(), prompt_) {
    print_text(prompt_);
  }

  void take(std::int64_t sequence, std::int32_t token) {
    const auto s = static_cast<std::size_t>(sequence);
    const std::string text = streams_[s].take(tokenizer_.decode({&token, 1}));
    if (s > 0) {
      later_[s] += text;
    } else if (!text.empty()) {
      print_text(text);
      flush();
    }
  }

  void finish() {
    print_text(streams_[0].rest() + "\n");
    for (std::size_t s = 1; s < streams_.size(); ++s)
      print_text("\n---\n" + later_[s] + streams_[s].rest() + "\n");
  }

 private:
  const Tokenizer& tokenizer_;
  std::string prompt_;
  std::vector<CharacterStream> streams_;
  std::vector<std::string> later_;
};

template <class LanguageModel>
void draw_texts(const Options& options, const Tokenizer& tokenizer, LanguageModel&& model) {
  Texts texts(options, tokenizer);
  std::vector<bool> ended(static_cast<std::size_t>(options.sequences));
  const auto draw = [&](std::int64_t i, std::int64_t sequence, std::span<const float> logits) {
    const std::int32_t token =
        nn::sample(logits, options.sampling, key_of_draw(options, sequence, i));
    const auto s = static_cast<std::size_t>(sequence);
    ended[s] = ended[s] || token == tokenizer.marks().end;
    if (!ended[s]) texts.take(sequence, token);
    return token;
  };
  for (std::int64_t i = 0; i < options.tokens; ++i) {
    model.next([&](std::int64_t sequence, std::span<const float> logits) {
      return draw(i, sequence, logits);
    });
    if (std::find(ended.begin(), ended.end(), false) == ended.end()) break;
  }
  texts.finish();
}

void generate(const Options& options) {
  const Model model = open_model(options.model);
  const Tokenizer tokenizer = tokenizer_of(model);
  const std::vector<std::int32_t> prompt =
      options.prompt ? tokens_of_prompt(tokenizer, *options.prompt) : beginning(tokenizer);
  ThreadPool pool({.threads = options.threads});
  if (const std::optional<nn::Gpt> net = gpt_of(model))
    draw_texts(options, tokenizer,
               CachedModel(options, *net, model, tokenizer.size(), prompt, pool));
  else
    draw_texts(options, tokenizer, WindowModel(options, model, tokenizer.size(), prompt, pool));
}

}  // namespace

void add_generate(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("generate", "A text that a language model goes on with, drawn by a seed");
  add_model_option(*command, options->model);
  command
      ->add_option("--prompt", options->prompt,
                   "The text before it; by default a mark of a beginning, or a line's end")
      ->type_name("TEXT");
  command->add_option("--tokens", options->tokens, "Tokens to draw")
      ->check(within(0, kMostExamples))
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--sequences", options->sequences,
                   "Texts to draw at once, each as by a seed of its own: S, S + 1, ...")
      ->check(within(1, 1024))
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--temperature", options->sampling.temperature,
                   "Below 1 the likely is drawn more often, above 1 less; 0: always the likeliest")
      ->check(positive(true))
      ->type_name("T")
      ->capture_default_str();
  command->add_option("--top-k", options->sampling.top_k, "Draw from the K likeliest alone; 0: all")
      ->check(within(0, kMostExamples))
      ->type_name("K")
      ->capture_default_str();
  command
      ->add_option("--top-p", options->sampling.top_p,
                   "Draw from the likeliest that have probability P together")
      ->check(positive())
      ->type_name("P")
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Of the draws")
      ->type_name("S")
      ->capture_default_str();
  add_threads_option(*command, options->threads);
  command->callback([options] { generate(*options); });
}

}  // namespace limpid::tool
