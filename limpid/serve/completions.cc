#include "limpid/serve/completions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <ctime>
#include <numeric>
#include <random>
#include <span>
#include <utility>

#include "limpid/core/arithmetic.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/utf8.h"
#include "limpid/data/text/character_stream.h"
#include "limpid/inspect/bit_hashes.h"
#include "limpid/models/prompt.h"
#include "limpid/serve/event_stream.h"
#include "limpid/serve/receipt.h"

namespace limpid::serve {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kMostLogprobs = 20;
constexpr std::size_t kMostStops = 16;
constexpr std::size_t kLongestStop = 1024;

template <class... Parts>
[[noreturn]] void refuse_completion(fmt::format_string<Parts...> message, Parts&&... parts) {
  throw HttpError(400, fmt::format(message, std::forward<Parts>(parts)...));
}

std::uint64_t random_bits() {
  std::random_device device;
  return static_cast<std::uint64_t>(device()) << 32 | device();
}

// ---- parsing a request

// A member; nullptr if it is missing or null.
std::optional<JsonView> given(const Json& body, std::string_view key) {
  const Json* const found = body.find(key);
  if (!found || found->is_null()) return std::nullopt;
  return JsonView(*found, std::string(key));
}

bool flag_of(const Json& body, std::string_view key) {
  const std::optional<JsonView> value = given(body, key);
  return value && value->as_bool();
}

std::int64_t integer_of(const Json& body, std::string_view key, std::int64_t otherwise,
                        std::int64_t low, std::int64_t high) {
  const std::optional<JsonView> value = given(body, key);
  return value ? value->as_integer(low, high) : otherwise;
}

double number_in(const Json& body, std::string_view key, double otherwise) {
  const std::optional<JsonView> value = given(body, key);
  return value ? value->as_number() : otherwise;
}

using Names = std::span<const std::string_view>;
constexpr std::string_view kParameters[] = {"model",
                                            "max_tokens",
                                            "temperature",
                                            "top_p",
                                            "top_k",
                                            "seed",
                                            "stop",
                                            "n",
                                            "min_p",
                                            "user",
                                            "presence_penalty",
                                            "frequency_penalty",
                                            "stream",
                                            "logprobs",
                                            "stream_options",
                                            "logit_bias",
                                            "repetition_penalty"};
constexpr std::string_view kOfTexts[] = {"prompt", "echo"};
constexpr std::string_view kOfChats[] = {"messages", "max_completion_tokens", "top_logprobs",
                                         "metadata", "safety_identifier",     "prompt_cache_key"};

// A parameter of other servers that Limpid lacks. Accepts the values that change nothing.
struct Neutral {
  std::string_view name;
  std::string_view values;  // a list in JSON
};
constexpr Neutral kNeutral[] = {{"best_of", "[1]"},
                                {"suffix", R"([""])"},
                                {"ignore_eos", "[false]"},
                                {"tools", "[[]]"},
                                {"tool_choice", R"(["none", "auto"])"},
                                {"parallel_tool_calls", "[true, false]"},
                                {"functions", "[[]]"},
                                {"function_call", R"(["none", "auto"])"},
                                {"response_format", R"([{"type": "text"}])"},
                                {"modalities", R"([["text"]])"},
                                {"store", "[false]"},
                                {"service_tier", R"(["auto", "default"])"}};

std::vector<std::string> texts_of(const Json& values) {
  std::vector<std::string> texts;
  for (const Json& value : values.elements()) texts.push_back(value.dump());
  return texts;
}

bool is_same(const Json& a, const Json& b) {
  return a == b || (a.is_number() && b.is_number() && a.as_number() == b.as_number());
}

// `others`: the parameters of this request beside kParameters.
void check_members(const Json& body, Names others) {
  for (const auto& [key, value] : body.members()) {
    const auto has = [&name = key](Names names) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (value.is_null() || has(kParameters) || has(others)) continue;
    const auto* const found =
        std::find_if(std::begin(kNeutral), std::end(kNeutral),
                     [&, &name = key](const Neutral& neutral) { return neutral.name == name; });
    if (found == std::end(kNeutral)) refuse_completion("there is no parameter {}", in_quotes(key));
    const Json values = Json::parse(found->values);
    const bool changes_nothing =
        std::any_of(values.elements().begin(), values.elements().end(),
                    [&, &given = value](const Json& neutral) { return is_same(given, neutral); });
    if (!changes_nothing)
      refuse_completion("{}: not supported: expected {}, got {}", key,
                        fmt::join(texts_of(values), " or "), brief(value));
  }
}

std::uint64_t seed_of(const Json& body) {
  const std::optional<JsonView> seed = given(body, "seed");
  if (!seed) return random_bits() >> 11;
  if (seed->value().is_integer() && !seed->value().is_small_integer())
    return seed->value().as_unsigned();
  return static_cast<std::uint64_t>(seed->as_integer());
}

std::vector<std::string> stops_of(const Json& body) {
  const std::optional<JsonView> stop = given(body, "stop");
  if (!stop) return {};
  std::vector<std::string> stops =
      stop->value().is_string() ? std::vector{stop->as_string()} : stop->as_strings();
  if (stops.size() > kMostStops)
    refuse_completion("stop: expected at most {} texts, got {}", kMostStops, stops.size());
  for (const std::string& text : stops)
    if (text.empty() || text.size() > kLongestStop)
      refuse_completion("stop: expected texts of 1 to {} bytes", kLongestStop);
  return stops;
}

double number_within(const Json& body, std::string_view key, double otherwise, double low,
                     double high) {
  const double number = number_in(body, key, otherwise);
  if (!(number >= low && number <= high))
    refuse_completion("{}: expected a number of {} to {}, got {}", key, low, high, number);
  return number;
}

// {"token": number to add to its logit}, as OpenAI's clients write it.
std::vector<std::pair<std::int32_t, double>> bias_of(const Json& body) {
  constexpr double kMostBias = 100;
  constexpr std::size_t kMostTokens = 1024;
  const std::optional<JsonView> given_bias = given(body, "logit_bias");
  if (!given_bias) return {};
  std::vector<std::pair<std::int32_t, double>> bias;
  for (const auto& [key, value] : given_bias->members()) {
    std::int32_t token = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), token);
    if (error != std::errc() || end != key.data() + key.size() || token < 0)
      refuse_completion("logit_bias: expected the number of a token, got {}", in_quotes(key));
    const double added = value.as_number();
    if (!(std::abs(added) <= kMostBias))
      refuse_completion("logit_bias: expected numbers of -100 to 100, got {}", added);
    bias.emplace_back(token, added);
  }
  if (bias.size() > kMostTokens)
    refuse_completion("logit_bias: expected at most {} tokens, got {}", kMostTokens, bias.size());
  return bias;
}

// Before a text is encoded, which may take long: whether its tokens could be in the context.
void check_length(std::string_view what, std::size_t bytes, const LanguageService& model) {
  const std::size_t most = static_cast<std::size_t>(model.context) * model.longest_token;
  if (model.context > 0 && bytes > most)
    refuse_completion(
        "{}: expected at most {} bytes, as the context of {} tokens has no room for "
        "more, got {}",
        what, most, model.context, bytes);
}

void check_context(std::size_t tokens, const LanguageService& model) {
  if (model.context > 0 && tokens > static_cast<std::size_t>(model.context))
    refuse_completion("prompt: expected at most {} tokens, the context, got {}", model.context,
                      tokens);
}

CompletionRequest::Prompt text_prompt(const LanguageService& model, const std::string& text) {
  check_length("prompt", text.size(), model);
  CompletionRequest::Prompt prompt{.tokens = {}, .text = text};
  try {
    prompt.tokens =
        text.empty() ? start_tokens(model.tokenizer) : prompt_tokens(model.tokenizer, text);
  } catch (const Error& error) {
    refuse_completion("prompt: {}", error.what());
  }
  check_context(prompt.tokens.size(), model);
  return prompt;
}

CompletionRequest::Prompt token_prompt(const LanguageService& model, const JsonView& tokens) {
  check_context(tokens.value().size(), model);
  const Tokenizer& tokenizer = model.tokenizer;
  CompletionRequest::Prompt prompt;
  for (const JsonView& token : tokens.elements())
    prompt.tokens.push_back(static_cast<std::int32_t>(token.as_integer(0, tokenizer.size() - 1)));
  if (prompt.tokens.empty()) refuse_completion("{}: expected at least one token", tokens.path());
  CharacterStream characters;
  prompt.text = characters.take(tokenizer.decode(prompt.tokens));
  prompt.text += characters.rest();
  return prompt;
}

// A text, a list of tokens, or a list of either, at most `most` of them.
std::vector<CompletionRequest::Prompt> prompts_of(const Json& body, const LanguageService& model,
                                                  const CompletionRequest& request,
                                                  std::int64_t most) {
  const std::optional<JsonView> prompt = given(body, "prompt");
  if (!prompt) return {text_prompt(model, "")};
  if (prompt->value().is_string()) return {text_prompt(model, prompt->as_string())};
  const std::vector<JsonView> elements = prompt->elements();
  if (elements.empty())
    refuse_completion("prompt: expected a text or a list of tokens or texts, got an empty list");
  if (elements.front().value().is_number()) return {token_prompt(model, *prompt)};
  const auto count = static_cast<std::int64_t>(elements.size());
  if (count > most / request.n)
    throw HttpError(413, fmt::format("expected at most {} texts, got {} prompts of {} texts each",
                                     most, count, request.n));
  std::vector<CompletionRequest::Prompt> prompts;
  for (const JsonView& one : elements)
    prompts.push_back(one.value().is_string() ? text_prompt(model, one.as_string())
                                              : token_prompt(model, one));
  return prompts;
}

// ---- generating a text

// A token as text. Bytes that are only a part of a character are shown as numbers.
std::string text_or_escapes(const std::string& bytes) {
  if (utf8_fault(bytes) == bytes.size()) return bytes;
  std::string text;
  for (const char byte : bytes) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return text;
}

// A token as completions show it.
std::string token_text(const Tokenizer& tokenizer, std::int32_t token) {
  const std::string bytes = tokenizer.decode({&token, 1});
  return (utf8_fault(bytes) == bytes.size() ? "" : "bytes:") + text_or_escapes(bytes);
}

std::int64_t characters_of(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

// Log-softmax of logits, in f64 by functions of f32 that have the same bits on every machine.
class LogProbabilities {
 public:
  explicit LogProbabilities(std::span<const float> logits) : logits_(logits) {
    most_ = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float logit : logits) sum += static_cast<double>(arithmetic::exp(logit - most_));
    log_sum_ = static_cast<double>(arithmetic::log(static_cast<float>(sum)));
  }
  double operator[](std::int32_t token) const {
    return static_cast<double>(logits_[static_cast<std::size_t>(token)] - most_) - log_sum_;
  }
  // The most probable tokens, in order; of equally probable ones the smaller token first.
  std::vector<std::int32_t> top(std::int64_t count) const {
    std::vector<std::int32_t> tokens(logits_.size());
    std::iota(tokens.begin(), tokens.end(), 0);
    const std::int64_t kept = std::min(count, static_cast<std::int64_t>(tokens.size()));
    std::partial_sort(tokens.begin(), tokens.begin() + kept, tokens.end(),
                      [&](std::int32_t a, std::int32_t b) {
                        const float x = logits_[static_cast<std::size_t>(a)];
                        const float y = logits_[static_cast<std::size_t>(b)];
                        return x > y || (x == y && a < b);
                      });
    tokens.resize(static_cast<std::size_t>(kept));
    return tokens;
  }

 private:
  std::span<const float> logits_;
  float most_ = 0;
  double log_sum_ = 0;
};

// A token in the logprobs of a response.
struct TokenFacts {
  std::int32_t token = 0;
  std::int64_t offset = 0;                                // in characters of the text
  std::optional<double> logprob = {};                     // none for the first token of a prompt
  std::vector<std::pair<std::int32_t, double>> top = {};  // the most probable tokens
};

// The logprobs of a completion, in OpenAI's form.
Json of_texts(const Tokenizer& tokenizer, std::span<const TokenFacts> all) {
  Json tokens = Json::array(), logprobs = Json::array(), top = Json::array(),
       offsets = Json::array();
  for (const TokenFacts& facts : all) {
    tokens.push_back(token_text(tokenizer, facts.token));
    offsets.push_back(facts.offset);
    logprobs.push_back(facts.logprob ? Json(*facts.logprob) : Json());
    Json best;
    const auto add = [&](std::int32_t token, double logprob) {
      const std::string text = token_text(tokenizer, token);
      if (!best.is_object() || !best.contains(text)) best[text] = logprob;
    };
    for (const auto& [token, logprob] : facts.top) add(token, logprob);
    if (facts.logprob) add(facts.token, *facts.logprob);
    top.push_back(std::move(best));
  }
  return {{"tokens", std::move(tokens)},
          {"token_logprobs", std::move(logprobs)},
          {"top_logprobs", std::move(top)},
          {"text_offset", std::move(offsets)}};
}

// The logprobs of a chat message, in OpenAI's form.
Json of_message(const Tokenizer& tokenizer, std::span<const TokenFacts> all) {
  const auto shown = [&](std::int32_t token, double logprob) {
    const std::string text = tokenizer.decode({&token, 1});
    Json bytes = Json::array();
    for (const char byte : text) bytes.push_back(static_cast<unsigned char>(byte));
    return Json{
        {"token", text_or_escapes(text)}, {"logprob", logprob}, {"bytes", std::move(bytes)}};
  };
  Json content = Json::array();
  for (const TokenFacts& facts : all) {
    Json top = Json::array();
    for (const auto& [token, logprob] : facts.top) top.push_back(shown(token, logprob));
    Json entry = shown(facts.token, *facts.logprob);
    entry["top_logprobs"] = std::move(top);
    content.push_back(std::move(entry));
  }
  return {{"content", std::move(content)}, {"refusal", Json()}};
}

// One text of a response: the part that may be sent already, and the part that a stop text may
// still cut off.
class Choice {
 public:
  Choice(const CompletionRequest& request, const CompletionRequest::Prompt& prompt,
         const Tokenizer& tokenizer)
      : request_(request), tokenizer_(tokenizer) {
    if (request.echo) tell(prompt.text);
    offset_ = characters_of(ready_);
    if (reads_prompt()) offset_ = 0;
  }

  bool reads_prompt() const { return request_.echo && request_.logprobs.has_value(); }

  // Adds the next token. Returns false if it ends the text.
  bool take(const Scheduler::Token& token) {
    if (token.of_prompt) {
      note(token);
      // BOS is not a part of the text.
      const bool mark = token.logits.empty() && token.token == tokenizer_.marks().begin;
      if (!mark) offset_ += characters_of(prompt_characters_.take(decoded(token.token)));
      return true;
    }
    tokens_.push_back(token.token);
    if (tokenizer_.ends_text(token.token) ||
        std::find(request_.ends.begin(), request_.ends.end(), token.token) != request_.ends.end()) {
      reason_ = "stop";
      return false;
    }
    note(token);
    const std::string characters = characters_.take(decoded(token.token));
    offset_ += characters_of(characters);
    held_ += characters;
    return look_for_stops();
  }

  // Ends the text: no further token comes.
  void end() {
    if (!stopped_) {
      // Half a character at the end is a part of the text, before an EOS too: as generate() has it.
      held_ += characters_.rest();
      if (look_for_stops() && !reason_) reason_ = "length";
    }
    if (*reason_ == "stop" && stopped_) {
      // Removes the tokens after the position where the text was cut.
      const std::int64_t length = told_ + characters_of(held_);
      while (!facts_.empty() && facts_.back().offset >= length) facts_.pop_back();
    }
    tell(std::exchange(held_, {}));
  }

  const std::optional<std::string>& reason() const { return reason_; }
  const std::vector<std::int32_t>& tokens() const { return tokens_; }
  bool has_news() const { return !ready_.empty(); }
  // The text since the last call, as an element of "choices".
  Json news(std::size_t index) {
    if (request_.chat) {
      Json message = Json::object();
      if (!std::exchange(begun_, true)) message["role"] = "assistant";
      message["content"] = std::exchange(ready_, {});
      return {{"index", index},
              {request_.stream ? "delta" : "message", std::move(message)},
              {"logprobs", logprobs()},
              {"finish_reason", reason_ ? Json(*reason_) : Json()}};
    }
    return {{"text", std::exchange(ready_, {})},
            {"index", index},
            {"logprobs", logprobs()},
            {"finish_reason", reason_ ? Json(*reason_) : Json()}};
  }

 private:
  std::string decoded(std::int32_t token) const { return tokenizer_.decode({&token, 1}); }

  void tell(const std::string& text) {
    told_ += characters_of(text);
    ready_ += text;
  }

  void note(const Scheduler::Token& token) {
    if (!request_.logprobs) return;
    TokenFacts facts{.token = token.token, .offset = offset_};
    if (!token.logits.empty()) {
      const LogProbabilities logprobs(token.logits);
      facts.logprob = logprobs[token.token];
      for (const std::int32_t best : logprobs.top(*request_.logprobs))
        facts.top.emplace_back(best, logprobs[best]);
    }
    facts_.push_back(std::move(facts));
  }

  // Log probabilities of the tokens since the last call. Tokens whose text is still held back wait:
  // it may be cut off.
  Json logprobs() {
    if (!request_.logprobs) return {};
    const auto end = reason_ ? facts_.end()
                             : std::find_if(facts_.begin(), facts_.end(),
                                            [&](const TokenFacts& f) { return f.offset >= told_; });
    const std::span<const TokenFacts> told(facts_.begin(), end);
    Json all = request_.chat ? of_message(tokenizer_, told) : of_texts(tokenizer_, told);
    facts_.erase(facts_.begin(), end);
    return all;
  }

  // Releases the text in which no stop text can begin. Returns false if there is a stop text: the
  // text ends before it.
  bool look_for_stops() {
    std::size_t first = std::string::npos, safe = held_.size();
    for (const std::string& stop : request_.stop) {
      first = std::min(first, held_.find(stop));
      for (std::size_t size = std::min(stop.size() - 1, held_.size()); size > 0; --size)
        if (held_.ends_with(std::string_view(stop).substr(0, size))) {
          safe = std::min(safe, held_.size() - size);
          break;
        }
    }
    if (first != std::string::npos) {
      held_.resize(first);
      reason_ = "stop";
      stopped_ = true;
      return false;
    }
    tell(held_.substr(0, safe));
    held_.erase(0, safe);
    return true;
  }

  const CompletionRequest& request_;
  const Tokenizer& tokenizer_;
  CharacterStream characters_, prompt_characters_;
  std::string held_;                    // may be the beginning of a stop text
  std::string ready_;                   // may be sent
  std::int64_t told_ = 0, offset_ = 0;  // characters
  std::vector<std::int32_t> tokens_;
  std::vector<TokenFacts> facts_;
  std::optional<std::string> reason_;
  bool stopped_ = false;
  bool begun_ = false;  // of a chat: the message's role was sent
};

// ---- the response

Tensor tensor_of(const std::vector<std::int32_t>& tokens) {
  return Tensor::generate<std::int32_t>(
      {static_cast<std::int64_t>(tokens.size())},
      [&](std::span<std::int32_t> to) { std::copy(tokens.begin(), tokens.end(), to.begin()); });
}

// A request and its response. Used on the Scheduler's thread only, once it is submitted.
class Completion {
 public:
  Completion(CompletionRequest request, std::shared_ptr<const ServedModel> model,
             std::shared_ptr<Ticket> ticket, std::shared_ptr<Answer> answer, Metrics& metrics)
      : request_(std::move(request)),
        model_(std::move(model)),
        ticket_(std::move(ticket)),
        answer_(std::move(answer)),
        metrics_(metrics),
        asked_(Clock::now()),
        id_(fmt::format("{}-{:016x}", request_.chat ? "chatcmpl" : "cmpl", random_bits())),
        created_(static_cast<std::int64_t>(std::time(nullptr))) {
    for (const CompletionRequest::Prompt& prompt : request_.prompts)
      for (std::int64_t i = 0; i < request_.n; ++i)
        writers_.push_back({Choice(request_, prompt, model_->language->tokenizer)});
  }

  // The texts of a request; their functions share ownership of it.
  static std::vector<Scheduler::Text> texts_of(const std::shared_ptr<Completion>& all) {
    const CompletionRequest& request = all->request_;
    std::vector<Scheduler::Text> texts;
    for (std::size_t i = 0; i < all->writers_.size(); ++i) {
      const std::uint64_t number = i % static_cast<std::uint64_t>(request.n);
      texts.push_back({.prompt = all->prompt_of(i).tokens,
                       .drawing = {.sampling = request.sampling,
                                   .key = Key(request.seed + number),
                                   .bias = request.bias,
                                   .presence = request.presence,
                                   .frequency = request.frequency,
                                   .repetition = request.repetition,
                                   .vocabulary = all->model_->language->tokenizer.size()},
                       .tokens = request.tokens,
                       .reads_prompt = all->writers_[i].choice.reads_prompt(),
                       .ticket = all->ticket_,
                       .on_token = [all, i](const Scheduler::Token& t) { return all->take(i, t); },
                       .on_end = [all, i](const Scheduler::End& end) { all->end(i, end); }});
    }
    return texts;
  }

 private:
  struct Writer {
    Choice choice;
    Clock::time_point first{}, last{};  // tokens
  };

  const CompletionRequest::Prompt& prompt_of(std::size_t i) const {
    return request_.prompts[i / static_cast<std::size_t>(request_.n)];
  }

  bool take(std::size_t i, const Scheduler::Token& token) {
    Writer& writer = writers_[i];
    if (!token.of_prompt) {
      writer.last = Clock::now();
      if (writer.choice.tokens().empty()) writer.first = writer.last;
    }
    const bool goes_on = writer.choice.take(token);
    // The last part of a text is sent by end(), with the reason.
    if (goes_on && request_.stream && writer.choice.has_news() && !token.of_prompt)
      return tell(Json::array({writer.choice.news(i)}));
    return goes_on;
  }

  void end(std::size_t i, const Scheduler::End& end) {
    if (failed_) return;
    if (end.error) return fail(end.error);
    Writer& writer = writers_[i];
    writer.choice.end();
    const auto seconds = [](Clock::duration time) {
      return std::chrono::duration<double>(time).count();
    };
    metrics_.text(model_->signature.name,
                  {.prompt_tokens = static_cast<std::int64_t>(prompt_of(i).tokens.size()),
                   .tokens = static_cast<std::int64_t>(writer.choice.tokens().size()),
                   .first_token_seconds = seconds(writer.first - asked_),
                   .further_tokens_seconds = seconds(writer.last - writer.first)});
    facts_.queue_seconds = std::max(facts_.queue_seconds, end.queue_seconds);
    facts_.compute_seconds = std::max(facts_.compute_seconds, end.compute_seconds);
    if (request_.stream) tell(Json::array({writer.choice.news(i)}));
    if (++ended_ < writers_.size()) return;
    facts_.rows = static_cast<std::int64_t>(writers_.size());
    if (request_.stream)
      end_stream();
    else
      answer_whole();
  }

  // Sends the error. The ticket ends the other texts; nothing more is sent.
  void fail(const std::exception_ptr& error) {
    failed_ = true;
    try {
      Response response = openai_error(to_http_error(error));
      if (stream_) {
        stream_->event(response.body);
        stream_->end();
      } else {
        answer_->send(std::move(response));
      }
    } catch (...) {
      // No memory for the error, either: destroying the answer closes the connection.
    }
    ticket_->give_up();
  }

  Json head() const {
    return {{"id", id_},
            {"object", !request_.chat    ? "text_completion"
                       : request_.stream ? "chat.completion.chunk"
                                         : "chat.completion"},
            {"created", created_},
            {"model", model_->signature.name},
            {"system_fingerprint", fmt::format("{:016x}", model_->signature.hash)},
            {"seed", request_.seed}};
  }

  Json usage() const {
    std::size_t prompts = 0, written = 0;
    for (const CompletionRequest::Prompt& prompt : request_.prompts)
      prompts += prompt.tokens.size();
    for (const Writer& writer : writers_) written += writer.choice.tokens().size();
    return {{"prompt_tokens", prompts},
            {"completion_tokens", written},
            {"total_tokens", prompts + written}};
  }

  // Sends these choices as an event; the first one begins the stream. Returns false if the client
  // has disconnected.
  bool tell(Json choices) {
    if (!stream_) stream_.emplace(answer_);
    Json event = head();
    event["choices"] = std::move(choices);
    if (request_.usage) event["usage"] = Json();
    return stream_->event(event.dump({.replace_invalid = true}));
  }

  void end_stream() {
    if (request_.usage) {
      Json event = head();
      event["choices"] = Json::array();
      event["usage"] = usage();
      stream_->event(event.dump({.replace_invalid = true}));
    }
    stream_->event("[DONE]");
    stream_->end(std::move(facts_));
  }

  void answer_whole() {
    Json choices = Json::array();
    for (std::size_t i = 0; i < writers_.size(); ++i) choices.push_back(writers_[i].choice.news(i));
    Json body = head();
    body["choices"] = std::move(choices);
    body["usage"] = usage();
    std::vector<Tensor> prompts, texts;
    for (const CompletionRequest::Prompt& prompt : request_.prompts)
      prompts.push_back(tensor_of(prompt.tokens));
    for (const Writer& writer : writers_) texts.push_back(tensor_of(writer.choice.tokens()));
    const Receipt receipt{.model = model_->signature.hash,
                          .input = hash_of_numbers(prompts),
                          .output = hash_of_numbers(texts)};
    answer_->send({.body = body.dump({.replace_invalid = true}),
                   .headers = {{"Limpid-Receipt", to_text(receipt)}},
                   .facts = std::move(facts_)});
  }

  const CompletionRequest request_;
  const std::shared_ptr<const ServedModel> model_;
  const std::shared_ptr<Ticket> ticket_;
  const std::shared_ptr<Answer> answer_;
  Metrics& metrics_;
  const Clock::time_point asked_;
  const std::string id_;
  const std::int64_t created_;
  std::vector<Writer> writers_;
  std::optional<EventStream> stream_;
  std::size_t ended_ = 0;
  bool failed_ = false;
  Facts facts_;
};

}  // namespace

std::string model_of_completion(const Json& body) {
  if (!body.is_object()) refuse_completion("the body: expected an object");
  const std::optional<JsonView> model = given(body, "model");
  if (!model || !model->value().is_string())
    refuse_completion("model: expected the name of a model");
  return model->as_string();
}

namespace {

// Parameters that completions and chats share.
CompletionRequest common_of(const Json& body, const Limits& limits) {
  CompletionRequest request;
  request.stream = flag_of(body, "stream");
  if (const std::optional<JsonView> options = given(body, "stream_options"))
    if (const std::optional<JsonView> usage = options->find("include_usage"))
      request.usage = usage->as_bool();
  request.n = integer_of(body, "n", 1, 1, limits.texts);
  request.sampling = {.temperature = number_in(body, "temperature", 1),
                      .top_k = integer_of(body, "top_k", 0, 0, std::int64_t{1} << 31),
                      .top_p = number_in(body, "top_p", 1),
                      .min_p = number_in(body, "min_p", 0)};
  if (!(request.sampling.temperature >= 0 && std::isfinite(request.sampling.temperature)))
    refuse_completion("temperature: expected a number of 0 or more");
  if (!(request.sampling.top_p > 0 && request.sampling.top_p <= 1))
    refuse_completion("top_p: expected a number above 0 and at most 1, got {}",
                      request.sampling.top_p);
  if (!(request.sampling.min_p >= 0 && request.sampling.min_p <= 1))
    refuse_completion("min_p: expected a number of 0 to 1, got {}", request.sampling.min_p);
  request.bias = bias_of(body);
  constexpr double kMostPenalty = 2;
  request.presence = number_within(body, "presence_penalty", 0, -kMostPenalty, kMostPenalty);
  request.frequency = number_within(body, "frequency_penalty", 0, -kMostPenalty, kMostPenalty);
  constexpr double kMostRepetition = 100;
  request.repetition =
      number_within(body, "repetition_penalty", 1, 1 / kMostRepetition, kMostRepetition);
  request.seed = seed_of(body);
  request.stop = stops_of(body);
  return request;
}

// The most tokens of each text: max_tokens; by default `otherwise`, at most what the context
// allows.
void set_tokens(CompletionRequest& request, const Json& body, std::string_view key,
                std::int64_t otherwise, const LanguageService& model, const Limits& limits) {
  std::int64_t longest = 0;
  for (const CompletionRequest::Prompt& prompt : request.prompts)
    longest = std::max(longest, static_cast<std::int64_t>(prompt.tokens.size()));
  const std::int64_t room = model.context > 0 ? model.context - longest : limits.tokens;
  request.tokens =
      integer_of(body, key, std::min({otherwise, room, limits.tokens}), 0, limits.tokens);
  if (request.tokens > room)
    refuse_completion(
        "{}: expected at most {} tokens, as the prompt takes {} of the context of {}, got {}", key,
        room, longest, model.context, request.tokens);
}

// Bounds the memory: each text has its own prompt, and with echo returns it.
void check_prompts(const CompletionRequest& request, const Limits& limits) {
  std::size_t bytes = 0;
  for (const CompletionRequest::Prompt& prompt : request.prompts)
    bytes += prompt.tokens.size() * sizeof(std::int32_t) + (request.echo ? prompt.text.size() : 0);
  const std::size_t most = limits.answer / static_cast<std::size_t>(request.n);
  if (bytes > most)
    throw HttpError(413, fmt::format("prompt: expected at most {} bytes of tokens and echoed text "
                                     "for each of {} texts, got {}",
                                     most, request.n, bytes));
}

// Bounds the memory: a whole response keeps all log probabilities until it is sent, a stream those
// of the echoed prompt.
void check_logprobs(const CompletionRequest& request, const Limits& limits) {
  constexpr std::int64_t kBytesOfEach = 512;  // as JSON values and as text
  if (!request.logprobs) return;
  std::int64_t tokens = 0;
  for (const CompletionRequest::Prompt& prompt : request.prompts)
    tokens += request.n * ((request.stream ? 0 : request.tokens) +
                           (request.echo ? static_cast<std::int64_t>(prompt.tokens.size()) : 0));
  const std::int64_t most = static_cast<std::int64_t>(limits.answer) / kBytesOfEach;
  if (tokens > most / (*request.logprobs + 1))
    throw HttpError(413, fmt::format("logprobs: {} of each of {} tokens: expected at most {} in "
                                     "all{}",
                                     *request.logprobs + 1, tokens, most,
                                     request.stream ? "" : ", or a stream"));
}

// `logprobs` is a flag here; `top_logprobs` is the number of most probable tokens.
std::optional<std::int64_t> logprobs_of_chat(const Json& body) {
  const std::int64_t top = integer_of(body, "top_logprobs", 0, 0, kMostLogprobs);
  if (flag_of(body, "logprobs")) return top;
  if (top > 0) refuse_completion("top_logprobs: expected logprobs to be true");
  return std::nullopt;
}

// The text of a message: a string, or a list of one part, {"type": "text", "text": "..."}.
const std::string& text_of(const JsonView& content) {
  if (content.value().is_array() && content.value().size() == 1)
    if (const JsonView part = content.at(0); part.value().is_object())
      if (const auto type = part.find("type"); type && type->value() == "text")
        return part.at("text").as_string();
  return content.as_string();
}

// The messages as templates take them, with contents as strings.
Json checked_messages(const JsonView& messages) {
  Json checked = Json::array();
  for (const JsonView& message : messages.elements()) {
    message.at("role").as_string();
    checked.push_back(message.value());
    checked.elements().back()["content"] = text_of(message.at("content"));
    for (const Json::Member& member : message.value().members())
      if (member.key != "role" && member.key != "content" && member.key != "name")
        refuse_completion("{}: expected role, content and name, got {}", message.path(),
                          in_quotes(member.key));
  }
  return checked;
}

}  // namespace

CompletionRequest parse_completion(const Json& body, const LanguageService& model,
                                   const Limits& limits) {
  check_members(body, kOfTexts);
  CompletionRequest request = common_of(body, limits);
  request.echo = flag_of(body, "echo");
  if (given(body, "logprobs")) request.logprobs = integer_of(body, "logprobs", 0, 0, kMostLogprobs);
  request.prompts = prompts_of(body, model, request, limits.texts);
  set_tokens(request, body, "max_tokens", 16, model, limits);
  check_prompts(request, limits);
  check_logprobs(request, limits);
  return request;
}

CompletionRequest parse_chat(const Json& body, const LanguageService& model, const Limits& limits) {
  if (!model.chat)
    throw HttpError(
        model.chat_unsupported ? 501 : 400,
        fmt::format("{}: send a text to /v1/completions, or a chat as a list of tokens, as "
                    "in a text special tokens stay text",
                    model.no_chat));
  check_members(body, kOfChats);
  CompletionRequest request = common_of(body, limits);
  request.chat = true;
  request.ends = model.chat->ends();
  request.logprobs = logprobs_of_chat(body);
  const std::optional<JsonView> messages = given(body, "messages");
  if (!messages) refuse_completion("messages: expected a list of messages");
  const Json checked = checked_messages(*messages);
  std::size_t bytes = 0;
  for (const Json& message : checked.elements()) bytes += message.at("content").as_string().size();
  check_length("messages", bytes, model);
  CompletionRequest::Prompt prompt;
  try {
    prompt.tokens = model.chat->prompt(model.tokenizer, checked);
  } catch (const Error& error) {
    throw HttpError(error.code() == ErrorCode::kUnsupported ? 501 : 400, error.what());
  }
  check_context(prompt.tokens.size(), model);
  if (prompt.tokens.empty())
    refuse_completion("messages: expected a prompt of at least one token, got none");
  request.prompts.push_back(std::move(prompt));
  const bool renamed = given(body, "max_completion_tokens").has_value();
  set_tokens(request, body, renamed ? "max_completion_tokens" : "max_tokens", limits.tokens, model,
             limits);
  check_prompts(request, limits);
  check_logprobs(request, limits);
  return request;
}

void complete(CompletionRequest request, std::shared_ptr<const ServedModel> model,
              std::shared_ptr<Ticket> ticket, const std::shared_ptr<Answer>& answer,
              Scheduler& scheduler, Metrics& metrics) {
  const std::shared_ptr<Scheduler::Lane> lane = model->language->lane;
  const auto completion = std::make_shared<Completion>(std::move(request), std::move(model),
                                                       std::move(ticket), answer, metrics);
  if (!scheduler.submit(lane, Completion::texts_of(completion)))
    throw HttpError(503, "the queue is full", {{"Retry-After", "1"}});
}

Response openai_error(const HttpError& error) {
  const bool ours = error.status() >= 500;
  const Json code = error.status() == 401   ? Json("invalid_api_key")
                    : error.status() == 404 ? Json("not_found")
                                            : Json();
  Response response = error_response(error);
  response.body = Json{{"error", Json{{"message", error.what()},
                                      {"type", ours ? "server_error" : "invalid_request_error"},
                                      {"param", Json()},
                                      {"code", code}}}}
                      .dump({.replace_invalid = true});
  return response;
}

}  // namespace limpid::serve
