#include "limpid/nn/recurrent_net.h"

#include <fmt/format.h>

#include <cmath>

#include "limpid/core/error.h"
#include "limpid/core/json.h"
#include "limpid/nn/detail/config.h"
#include "limpid/nn/dropout.h"
#include "limpid/nn/embedding.h"
#include "limpid/nn/linear.h"
#include "limpid/nn/sequential.h"
#include "limpid/ops/matmul.h"
#include "limpid/ops/shape.h"

namespace limpid::nn {
namespace {

constexpr const char* kEmbeddingTable = "embedding";
constexpr const char* kRecurrentPart = "rnn";
constexpr const char* kProjection = "head";

// What both networks have.
struct RecurrentPart {
  RecurrentKind kind;
  std::int64_t input, width, layers;
  double dropout;

  template <class Use>
  auto visit(const Use& use) const {
    if (kind == RecurrentKind::kGru) return use(GRU{input, width, layers, true, dropout});
    return use(LSTM{input, width, layers, true, dropout});
  }

  Params init(Key key) const {
    return visit([&](const auto& stack) { return stack.init(key); });
  }
  // Of the scope `rnn`; the result of the last layer is dropped out, too.
  Recurred run(const Args& params, const Value& x, RecurrentInputs inputs) const {
    const Builder::Scope scope(x.builder(), kRecurrentPart);
    const std::optional<Value> key = inputs.key;
    inputs.key = part_key(key, 0);
    Recurred all = visit(
        [&](const auto& stack) { return stack.run(params.within(kRecurrentPart), x, inputs); });
    all.y = Dropout{dropout}({}, all.y, part_key(key, 1));
    return all;
  }

  void add_parameters(std::vector<Input>& all) const {
    const std::int64_t rows = (kind == RecurrentKind::kGru ? 3 : 4) * width;
    for (std::int64_t l = 0; l < layers; ++l) {
      const auto add = [&](std::string_view which, const Shape& shape) {
        all.push_back({fmt::format("{}.{}_l{}", kRecurrentPart, which, l), {Dtype::kF32, shape}});
      };
      add("weight_ih", {rows, l == 0 ? input : width});
      add("weight_hh", {rows, width});
      add("bias_ih", {rows});
      add("bias_hh", {rows});
    }
  }
};

RecurrentPart part_of(const RecurrentLm& n) {
  return {n.kind, n.width, n.width, n.layers, n.dropout};
}
RecurrentPart part_of(const RecurrentNet& n) {
  return {n.kind, n.features, n.width, n.layers, n.dropout};
}

void check_recurrent_part(const RecurrentPart& part,
                          std::initializer_list<std::pair<const char*, std::int64_t>> sizes) {
  const auto check_size = [&](std::string_view what, std::int64_t size, std::int64_t most) {
    if (size < 1 || size > most)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{}: {} is {}, expected 1 to {}", name(part.kind), what, size, most));
  };
  for (const auto& [what, size] : sizes) check_size(what, size, kMostRecurrentSize);
  check_size("layers", part.layers, kMostRecurrentLayers);
  check_size("width", part.width, kMostRecurrentSize);
  if (!(part.dropout >= 0 && part.dropout < 1))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: expected a dropout of 0 or more and below 1, got {}",
                            name(part.kind), part.dropout));
}

// Uniform in +-1 / sqrt(width), as PyTorch's linear layer.
Linear projection_of(std::int64_t width, std::int64_t outputs) {
  return {width, outputs, true, kaiming_uniform(1 / std::sqrt(3.0))};
}

Embedding token_table_of(const RecurrentLm& net) {
  return {net.vocabulary, net.width,
          normal(net.tied ? 1 / std::sqrt(static_cast<double>(net.width)) : 1)};
}

// The result of the last layer for each token, (..., length, width), and the state after the last.
Recurred hidden_of(const RecurrentLm& net, const Args& params, const Value& ids,
                   const RecurrentInputs& inputs) {
  const Value table = apply_part(token_table_of(net), kEmbeddingTable, params, ids);
  const Value x = Dropout{net.dropout}({}, table, part_key(inputs.key, 0));
  return part_of(net).run(params, x, {.state = inputs.state, .key = part_key(inputs.key, 1)});
}

Value logits_of_hidden(const RecurrentLm& net, const Args& params, const Value& y) {
  const Builder::Scope scope(y.builder(), kProjection);
  return linear(y, params.at(Params::join(net.tied ? kEmbeddingTable : kProjection, "weight")),
                params.at(Params::join(kProjection, "bias")));
}

// The last step of y (..., T, width).
Value last_step(const Value& y) {
  const std::size_t time = y.rank() - 2;
  const std::int64_t steps = y.shape()[time];
  return reshape(slice(y, static_cast<std::int64_t>(time), steps - 1, steps),
                 y.shape().erase(time));
}

// The kind of a configuration, which is the name of its model.
RecurrentKind kind_of(const JsonView& config) {
  return from_name<RecurrentKind>(config.at("model").as_string());
}

// Reads the configuration of either kind. Throws as detail::read_config.
template <class Read>
auto read_recurrent_config(std::string_view text, const Read& read) {
  const std::optional<Json> json = Json::try_parse(text);
  const Json* const model = json ? json->find("model") : nullptr;
  const bool gru = model && *model == "gru";
  return detail::read_config(gru ? "gru" : "lstm", text, read);
}

Function traced_network(std::string_view called, const std::vector<Input>& inputs,
                        const std::function<Value(const Args&, const Value&)>& code) {
  return trace(std::string(called), inputs,
               [&](std::span<const Value> in) {
                 Args args;
                 for (std::size_t i = 0; i + 1 < in.size(); ++i) args.set(inputs[i].name, in[i]);
                 return std::vector<Value>{code(args, in.back())};
               },
               {"logits"});
}

}  // namespace

// ---- texts

void RecurrentLm::check() const {
  check_recurrent_part(part_of(*this), {{"vocabulary", vocabulary}, {"context", context}});
}

Params RecurrentLm::init(Key key) const {
  check();
  Params params;
  params.merge(kEmbeddingTable, token_table_of(*this).init(key.fold_in(0)));
  params.merge(kRecurrentPart, part_of(*this).init(key.fold_in(1)));
  Params head = projection_of(width, vocabulary).init(key.fold_in(2));
  if (tied) head = {{"bias", head.at("bias")}};
  params.merge(kProjection, head);
  return params;
}

std::vector<Input> RecurrentLm::parameters() const {
  check();
  std::vector<Input> all{{"embedding.weight", {Dtype::kF32, {vocabulary, width}}}};
  part_of(*this).add_parameters(all);
  if (!tied) all.push_back({"head.weight", {Dtype::kF32, {vocabulary, width}}});
  all.push_back({"head.bias", {Dtype::kF32, {vocabulary}}});
  return all;
}

Value RecurrentLm::operator()(const Args& params, Value ids, std::optional<Value> key) const {
  check();
  if (ids.rank() < 1 || ids.shape().back() < 1)
    throw Error(ErrorCode::kShape,
                fmt::format("{}: expected tokens [..., length] with a length of 1 or more, got {}",
                            name(kind), to_string(ids.type())));
  const Shape shape = ids.shape();
  const std::int64_t length = shape.back();
  // The layers take one batch dimension.
  const bool many = shape.rank() > 2;
  const Value flat = many ? reshape(ids, {shape.elements() / length, length}) : ids;
  const Value y = hidden_of(*this, params, flat, {.key = key}).y;
  return logits_of_hidden(*this, params, many ? reshape(y, shape.insert(shape.rank(), width)) : y);
}

Function RecurrentLm::function(std::int64_t length) const {
  std::vector<Input> inputs = parameters();
  inputs.push_back({"tokens", {Dtype::kI32, {length == 0 ? context : length}}});
  return traced_network(name(kind), inputs,
                        [&](const Args& params, const Value& ids) { return (*this)(params, ids); });
}

std::vector<Input> RecurrentLm::states(std::int64_t sequences) const {
  const Type each{Dtype::kF32, {layers, sequences, width}};
  std::vector<Input> all{{"h", each}};
  if (kind == RecurrentKind::kLstm) all.push_back({"c", each});
  return all;
}

Function RecurrentLm::stateful_function(std::int64_t sequences, std::int64_t length) const {
  if (sequences < 1 || length < 1)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: expected at least 1 text and 1 token, got {} and {}", name(kind),
                            sequences, length));
  const std::vector<Input> params = parameters(), state = states(sequences);
  std::vector<Input> inputs = params;
  inputs.push_back({"tokens", {Dtype::kI32, {sequences, length}}});
  inputs.insert(inputs.end(), state.begin(), state.end());
  std::vector<std::string> names{"logits"};
  for (const Input& input : state) names.push_back(input.name);
  const auto code = [&](std::span<const Value> in) {
    Args args;
    for (std::size_t i = 0; i < params.size(); ++i) args.set(params[i].name, in[i]);
    const std::size_t first = params.size() + 1;
    const HiddenState before{in[first], state.size() > 1 ? in[first + 1] : Value()};
    const Recurred all = hidden_of(*this, args, in[params.size()], {.state = before});
    std::vector<Value> out{logits_of_hidden(*this, args, last_step(all.y)), all.state.h};
    if (state.size() > 1) out.push_back(all.state.c);
    return out;
  };
  return trace(std::string(name(kind)), inputs, code, names);
}

std::string RecurrentLm::config() const {
  return Json{{"model", name(kind)}, {"vocabulary", vocabulary}, {"context", context},
              {"layers", layers},    {"width", width},           {"tied", tied},
              {"dropout", dropout}}
      .dump();
}

RecurrentLm RecurrentLm::from_config(std::string_view text) {
  return read_recurrent_config(text, [](const JsonView& config) {
    const RecurrentLm net{.kind = kind_of(config),
                          .vocabulary = config.at("vocabulary").as_integer(),
                          .context = config.at("context").as_integer(),
                          .layers = config.at("layers").as_integer(),
                          .width = config.at("width").as_integer(),
                          .tied = config.at("tied").as_bool(),
                          .dropout = config.at("dropout").as_number()};
    net.check();
    return net;
  });
}

// ---- sequences of numbers

void RecurrentNet::check() const {
  check_recurrent_part(part_of(*this),
                       {{"steps", steps}, {"features", features}, {"outputs", outputs}});
}

Params RecurrentNet::init(Key key) const {
  check();
  Params params;
  params.merge(kRecurrentPart, part_of(*this).init(key.fold_in(0)));
  params.merge(kProjection, projection_of(width, outputs).init(key.fold_in(1)));
  return params;
}

std::vector<Input> RecurrentNet::parameters() const {
  check();
  std::vector<Input> all;
  part_of(*this).add_parameters(all);
  all.push_back({"head.weight", {Dtype::kF32, {outputs, width}}});
  all.push_back({"head.bias", {Dtype::kF32, {outputs}}});
  return all;
}

RecurrentNet::Training RecurrentNet::training(const Args& params, const Args& state, Value x,
                                              Value key) const {
  return {(*this)(params, x, key), state};
}

Value RecurrentNet::operator()(const Args& params, Value x, std::optional<Value> key) const {
  check();
  const Value y = part_of(*this).run(params, x, {.key = key}).y;
  return apply_part(projection_of(width, outputs), kProjection, params, last_step(y));
}

Function RecurrentNet::function() const {
  std::vector<Input> inputs = parameters();
  inputs.push_back({"x", {Dtype::kF32, {steps, features}}});
  return traced_network(name(kind), inputs,
                        [&](const Args& params, const Value& x) { return (*this)(params, x); });
}

std::string RecurrentNet::config() const {
  return Json{{"model", name(kind)}, {"steps", steps}, {"features", features}, {"outputs", outputs},
              {"layers", layers},    {"width", width}, {"dropout", dropout}}
      .dump();
}

RecurrentNet RecurrentNet::from_config(std::string_view text) {
  return read_recurrent_config(text, [](const JsonView& config) {
    const RecurrentNet net{.kind = kind_of(config),
                           .steps = config.at("steps").as_integer(),
                           .features = config.at("features").as_integer(),
                           .outputs = config.at("outputs").as_integer(),
                           .layers = config.at("layers").as_integer(),
                           .width = config.at("width").as_integer(),
                           .dropout = config.at("dropout").as_number()};
    net.check();
    return net;
  });
}

}  // namespace limpid::nn
