#include "limpid/view/language.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/stop_check.h"
#include "limpid/function/builder.h"
#include "limpid/models/generate.h"
#include "limpid/models/prompt.h"
#include "limpid/ops/attention_weights.h"
#include "limpid/ops/softmax.h"
#include "limpid/view/forward.h"
#include "limpid/view/stoppable_lock.h"

namespace limpid::view {
namespace {

ShownToken shown_token(const Tokenizer& tokenizer, std::int32_t id) {
  // The output may have more rows than the tokenizer has tokens.
  return {id, id < tokenizer.size() ? token_text(tokenizer, id) : fmt::format("<{}>", id)};
}

std::vector<ShownToken> shown_tokens(const Tokenizer& tokenizer,
                                     std::span<const std::int32_t> ids) {
  std::vector<ShownToken> all;
  for (const std::int32_t id : ids) all.push_back(shown_token(tokenizer, id));
  return all;
}

Json token_json(const ShownToken& token) { return {{"id", token.id}, {"text", token.text}}; }

Json tokens_json(const std::vector<ShownToken>& tokens) {
  Json list = Json::array();
  for (const ShownToken& t : tokens) list.push_back(token_json(t));
  return list;
}

// ---- attention

// The attention weights of one op in a run: f32 [heads, queries, keys].
Tensor weights_of(Session& session, const Observation& run, const Node& node) {
  std::vector<Input> inputs;
  std::vector<Tensor> tensors;
  for (const ValueId id : node.inputs) {
    inputs.push_back({std::to_string(inputs.size()), run.function.type(id)});
    tensors.push_back(run[id]);
  }
  const Function f = trace("weights", inputs, [&](std::span<const Value> in) {
    return std::vector<Value>{attention_weights(in, node.attributes)};
  });
  const Tensor weights = session.compiled(f)(tensors).front();
  const Shape& s = weights.shape();
  const std::int64_t queries = s[s.rank() - 2], keys = s.back();
  return weights.reshape({weights.elements() / (queries * keys), queries, keys});
}

std::vector<const Node*> attentions_of(const Function& f) {
  std::vector<const Node*> nodes;
  for (const Node& node : f.nodes())
    if (node.op->role == Role::kAttention) nodes.push_back(&node);
  return nodes;
}

double entropy_of(std::span<const float> row) {
  double entropy = 0;
  int seen = 0;
  for (const float w : row) {
    const auto p = static_cast<double>(w);
    seen += p > 0;
    if (p > 0) entropy -= p * std::log(p);
  }
  return seen > 1 ? entropy / std::log(seen) : 1;
}

// ---- the residual stream

struct Stream {
  std::string name;
  ValueId value;
};

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The residual stream: the input of the first block, then the output of each block, which is the
// last sum in its own scope, such as "layers.3".
std::vector<Stream> streams_of(const Function& f) {
  std::vector<Stream> streams;
  for (const Node& node : f.nodes()) {
    const std::size_t dot = node.scope.rfind('.');
    if (node.op->name != "add" || dot == std::string::npos ||
        !is_number(std::string_view(node.scope).substr(dot + 1)))
      continue;
    if (streams.empty() || streams.back().name != node.scope) {
      // The first sum of a block adds to the block's input.
      if (streams.empty()) streams.push_back({"embedding", node.inputs[0]});
      streams.push_back({node.scope, node.first_output});
    }
    streams.back().value = node.first_output;
  }
  return streams;
}

// The ops after `stream` that the outputs need, as a Function of (the inputs of f, "stream").
Function after(const Function& f, ValueId stream) {
  std::vector<bool> needed(f.types().size(), false);
  for (const Output& o : f.outputs()) needed[static_cast<std::size_t>(o.value)] = true;
  needed[static_cast<std::size_t>(stream)] = false;
  std::vector<const Node*> nodes;
  for (auto node = f.nodes().rbegin(); node != f.nodes().rend(); ++node) {
    bool any = false;
    for (std::size_t r = 0; r < f.output_count(*node); ++r)
      any = any || needed[static_cast<std::size_t>(node->first_output) + r];
    if (!any) continue;
    nodes.push_back(&*node);
    for (const ValueId id : node->inputs)
      if (id != stream) needed[static_cast<std::size_t>(id)] = true;
  }
  Builder builder("lens");
  std::vector<Value> values(f.types().size());
  for (std::size_t i = 0; i < f.inputs().size(); ++i)
    values[i] = builder.input(f.inputs()[i].name, f.inputs()[i].type);
  values[static_cast<std::size_t>(stream)] = builder.input("residual_stream", f.type(stream));
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    std::vector<Value> inputs;
    for (const ValueId id : (*node)->inputs) inputs.push_back(values[static_cast<std::size_t>(id)]);
    auto at = values.begin() + (*node)->first_output;
    for (const Value& v : builder.call(*(*node)->op, inputs, (*node)->attributes)) *at++ = v;
  }
  std::vector<Value> outputs;
  for (const Output& o : f.outputs())
    outputs.push_back(softmax(values[static_cast<std::size_t>(o.value)]));
  return builder.finish(outputs);
}

std::vector<ShownBlock::Guess> guesses_of(const Tokenizer& tokenizer,
                                          std::span<const float> probabilities) {
  constexpr std::size_t kGuesses = 3;
  std::vector<ShownBlock::Guess> guesses;
  for (const std::int64_t token : largest_of(probabilities, kGuesses))
    guesses.push_back({shown_token(tokenizer, static_cast<std::int32_t>(token)),
                       static_cast<double>(probabilities[static_cast<std::size_t>(token)])});
  return guesses;
}

// The edits of parameters, which a model has at any length.
std::vector<Edit> edits_of_parameters(Session& session, const Ready& ready,
                                      std::vector<Change> changes) {
  const Function& f = ready.model.function;
  std::erase_if(changes, [&](const Change& change) {
    const auto at = static_cast<std::size_t>(value_of_name(f, change.edit.at));
    return at >= f.inputs().size() || !ready.model.params.find(f.inputs()[at].name);
  });
  return edits_of(session, ready, changes);
}

// The lens on the last rows only: the model at that length has the same ops.
class Lens {
 public:
  Lens(Session& session, const Ready& ready, const std::vector<Edit>& edits, std::int64_t rows)
      : rows_(rows), short_(at_length(ready.open->model, rows)) {
    if (!edits.empty()) short_.function = edit(short_.function, edits).function;
    const std::vector<Stream> streams = streams_of(short_.function);
    stream_ = streams.back().value;
    executable_ = std::make_unique<Executable>(session.compiled(after(short_.function, stream_)));
    for (const Input& input : short_.function.inputs()) {
      const Tensor* const parameter = short_.params.find(input.name);
      inputs_.push_back(parameter ? *parameter : Tensor::zeros(input.type));
    }
  }
  // Probabilities f32 [rows, tokens] for a stream f32 [tokens, width].
  Tensor operator()(const Tensor& stream, ThreadPool& pool) const {
    std::vector<Tensor> inputs = inputs_;
    inputs.push_back(stream.rows(stream.shape()[0] - rows_, rows_));
    return (*executable_)(inputs, &pool).front();
  }

 private:
  std::int64_t rows_;
  Model short_;
  ValueId stream_ = 0;
  std::unique_ptr<Executable> executable_;
  std::vector<Tensor> inputs_;
};

void add_blocks(Session& session, const Computed& computed, const LanguageRequest& request,
                const Tokenizer& tokenizer, Language& result) {
  const std::vector<Stream> streams = streams_of(computed.run.function);
  if (streams.empty() || !gpt_of(computed.ready.model)) return;
  const auto length = static_cast<std::int64_t>(computed.ready.tokens.size());
  const std::int64_t rows = std::min(request.lens, length);
  std::optional<Lens> look;
  if (rows > 0)
    look.emplace(session, computed.ready,
                 edits_of_parameters(session, computed.ready, request.subject.changes), rows);
  for (const Stream& stream : streams) {
    ShownBlock block{.name = stream.name};
    const Tensor& value = computed.run[stream.value];
    const std::int64_t width = value.shape().back();
    const auto numbers = value.values<float>();
    for (std::int64_t t = 0; t < value.elements() / width; ++t) {
      double sum = 0;
      for (std::int64_t i = 0; i < width; ++i) {
        const auto x = static_cast<double>(numbers[static_cast<std::size_t>(t * width + i)]);
        sum += x * x;
      }
      block.norms.push_back(std::sqrt(sum));
    }
    if (look) {
      const Tensor p = (*look)(value, session.pool());
      const auto vocabulary = static_cast<std::size_t>(p.shape().back());
      for (std::size_t t = 0; t < static_cast<std::size_t>(rows); ++t)
        block.lens.push_back(
            guesses_of(tokenizer, p.values<float>().subspan(t * vocabulary, vocabulary)));
    }
    result.blocks.push_back(std::move(block));
  }
}

Cache cache_of(const Model& model, std::int64_t length) {
  if (const auto net = recurrent_lm_of(model)) {
    std::size_t bytes = 0;
    for (const Input& state : net->states(1)) bytes += state.type.bytes();
    return {.length = length, .bytes = static_cast<std::int64_t>(bytes)};
  }
  const auto net = gpt_of(model);
  if (!net) return {.length = length};
  const std::int64_t each = 2 * net->layers * net->key_heads() * net->head() * 4;
  return {.length = length, .capacity = net->context, .bytes = each * length};
}

}  // namespace

std::int64_t context_of(const Model& model) {
  const auto net = gpt_of(model);
  return net ? net->context : 0;
}

std::vector<ShownToken> tokens_of(Session& session, const std::string& model,
                                  const std::string& text) {
  const auto open = session.model(model);
  const Tokenizer tokenizer = tokenizer_of(open->model);
  return shown_tokens(tokenizer, prompt_tokens(tokenizer, text));
}

Language language(Session& session, const LanguageRequest& request) {
  const Computed computed = compute(session, request.subject);
  const Tokenizer tokenizer = tokenizer_of(computed.ready.open->model);
  Language result;
  result.tokens = shown_tokens(tokenizer, computed.ready.tokens);
  result.cache = cache_of(computed.ready.model, static_cast<std::int64_t>(result.tokens.size()));

  const Tensor& output = computed.run[computed.run.function.outputs().at(0).value];
  if (output.dtype() != Dtype::kF32 || output.shape().rank() == 0)
    throw Error(ErrorCode::kInvalidArgument, "the model gives no logits of tokens");
  const auto logits = output.values<float>().last(static_cast<std::size_t>(output.shape().back()));
  const nn::Sampling whole{.temperature = request.sampling.temperature};
  const std::size_t kept = nn::choices(logits, request.sampling).size();
  const std::vector<nn::Choice> all = nn::choices(logits, whole);
  double sum = 0;
  for (const nn::Choice& c : all) sum += c.weight;
  for (std::size_t i = 0; i < all.size() && static_cast<std::int64_t>(i) < request.most; ++i)
    result.next.push_back(
        {shown_token(tokenizer, all[i].token),
         exact_of(static_cast<double>(logits[static_cast<std::size_t>(all[i].token)]), Dtype::kF32),
         all[i].weight / sum, i < kept});

  add_blocks(session, computed, request, tokenizer, result);
  for (const Node* node : attentions_of(computed.run.function)) {
    const Tensor weights = weights_of(session, computed.run, *node);
    ShownAttention shown{.name = node->scope, .heads = weights.shape()[0]};
    const auto keys = static_cast<std::size_t>(weights.shape()[2]);
    const auto queries = static_cast<std::size_t>(weights.shape()[1]);
    for (std::size_t h = 0; h < static_cast<std::size_t>(shown.heads); ++h) {
      shown.entropy.emplace_back();
      for (std::size_t q = 0; q < queries; ++q)
        shown.entropy.back().push_back(
            entropy_of(weights.values<float>().subspan((h * queries + q) * keys, keys)));
    }
    result.attention.push_back(std::move(shown));
  }
  return result;
}

Json to_json(const Language& l) {
  const auto numbers = [](const std::vector<double>& list) {
    Json all = Json::array();
    for (const double x : list) all.push_back(number_json(x));
    return all;
  };
  Json next = Json::array(), blocks = Json::array(), attention = Json::array();
  for (const NextToken& n : l.next)
    next.push_back({{"id", n.token.id},
                    {"text", n.token.text},
                    {"logit", to_json(n.logit)},
                    {"probability", number_json(n.probability)},
                    {"kept", n.kept}});
  for (const ShownBlock& b : l.blocks) {
    Json lens = Json::array();
    for (const auto& token : b.lens) {
      Json guesses = Json::array();
      for (const auto& g : token)
        guesses.push_back({{"id", g.token.id},
                           {"text", g.token.text},
                           {"probability", number_json(g.probability, Dtype::kF32)}});
      lens.push_back(std::move(guesses));
    }
    blocks.push_back({{"name", b.name}, {"norms", numbers(b.norms)}, {"lens", lens}});
  }
  for (const ShownAttention& a : l.attention) {
    Json entropy = Json::array();
    for (const auto& head : a.entropy) entropy.push_back(numbers(head));
    attention.push_back({{"name", a.name}, {"heads", a.heads}, {"entropy", entropy}});
  }
  return {{"tokens", tokens_json(l.tokens)},
          {"next", next},
          {"blocks", blocks},
          {"attention", attention},
          {"cache",
           {{"length", l.cache.length}, {"capacity", l.cache.capacity}, {"bytes", l.cache.bytes}}}};
}

Tensor attention_of(Session& session, const Subject& subject, std::int64_t layer,
                    std::int64_t head) {
  const Computed computed = compute(session, subject);
  const std::vector<const Node*> all = attentions_of(computed.run.function);
  if (layer < 0 || layer >= static_cast<std::int64_t>(all.size()))
    throw Error(ErrorCode::kNotFound,
                fmt::format("there is no attention {}: the model has {}", layer, all.size()));
  const Tensor weights = weights_of(session, computed.run, *all[static_cast<std::size_t>(layer)]);
  if (head < 0 || head >= weights.shape()[0])
    throw Error(ErrorCode::kNotFound,
                fmt::format("there is no head {}: the attention has {}", head, weights.shape()[0]));
  return weights.rows(head, 1).reshape({weights.shape()[1], weights.shape()[2]});
}

std::span<const float> Speaker::logits(const std::shared_ptr<const OpenModel>& open,
                                       std::span<const std::int32_t> tokens, ThreadPool& pool) {
  if (tokens.empty())
    throw Error(ErrorCode::kInvalidArgument, "expected a text with at least one token");
  if (open_.lock() != open) {
    open_.reset();
    sequence_.reset();
    model_.reset();  // never two in memory
    model_.emplace(language_model_of(open->model, {.pool = &pool}));
    sequence_.emplace(model_->join({}));
    open_ = open;
  }
  const std::span<const std::int32_t> known = sequence_->tokens();
  std::size_t common = 0;
  while (common < std::min(known.size(), tokens.size()) && known[common] == tokens[common])
    ++common;
  if (common < known.size()) {
    common = std::min(common, tokens.size() - 1);  // the logits of the removed tokens are lost
    sequence_->truncate(static_cast<std::int64_t>(common));
  }
  sequence_->append(tokens.subspan(common));
  while (!sequence_->ready()) {
    throw_if_stopped();
    const StopScope whole(nullptr);
    model_->step();
  }
  return sequence_->logits();
}

Generated generate(Session& session, const GenerateRequest& request, std::int64_t drawn) {
  constexpr std::int64_t kMostCount = 256;
  if (request.count < 0 || request.count > kMostCount)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("count: expected 0 to {}, got {}", kMostCount, request.count));
  const auto open = session.model(request.model);
  const Tokenizer tokenizer = tokenizer_of(open->model);
  std::vector<std::int32_t> tokens = request.tokens;
  if (tokens.empty()) tokens = prompt_tokens(tokenizer, request.text);
  const std::int64_t capacity = context_of(open->model);
  if (capacity > 0 && static_cast<std::int64_t>(tokens.size()) + request.count > capacity)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("the context of {} tokens is full", capacity));
  const std::int64_t vocabulary = tokenizer.size();
  Speaker& speaker = session.speaker();
  const auto lock = stoppable_lock(speaker.mutex);
  Generated result;
  for (std::int64_t i = 0; i < request.count; ++i) {
    const auto logits = speaker.logits(open, tokens, session.pool());
    const auto possible =
        logits.first(std::min(logits.size(), static_cast<std::size_t>(vocabulary)));
    const Key key = Key(request.seed).fold_in(static_cast<std::uint64_t>(drawn + i));
    const std::int32_t token = nn::sample(possible, request.sampling, key);
    if (tokenizer.ends_text(token)) break;
    tokens.push_back(token);
    ++result.added;
  }
  const std::span<const std::int32_t> all = tokens;
  const bool begins = !all.empty() && tokenizer.marks().begin == all.front();
  result.text = tokenizer.decode(all.subspan(begins ? 1 : 0));
  result.tokens = shown_tokens(tokenizer, tokens);
  result.cache = cache_of(open->model, static_cast<std::int64_t>(tokens.size()));
  return result;
}

}  // namespace limpid::view
