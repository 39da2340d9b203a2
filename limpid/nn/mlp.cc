#include "limpid/nn/mlp.h"

#include <fmt/format.h>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/nn/detail/config.h"
#include "limpid/nn/norm.h"
#include "limpid/ops/random.h"
#include "limpid/ops/shape.h"

namespace limpid::nn {
namespace {

std::string layer_name(std::size_t i) { return fmt::format("layers.{}", i); }
std::string norm_name(std::size_t i) { return fmt::format("norms.{}", i); }

Params norm_init(MlpNorm norm, std::int64_t features) {
  switch (norm) {
    case MlpNorm::kNone:
      return {};
    case MlpNorm::kLayer:
      return LayerNorm{features}.init(Key(0));
    case MlpNorm::kRms:
      return RmsNorm{features}.init(Key(0));
    case MlpNorm::kBatch:
      return BatchNorm{features}.init(Key(0));
  }
  return {};
}

// Batch norm is defined on rows (N, features).
Value batch_norm_of_any_rank(const Args& args, const Value& x) {
  const Shape shape = x.shape();
  const std::int64_t features = shape.back();
  const Value rows = reshape(x, {shape.elements() / features, features});
  return reshape(BatchNorm{features}.inference(args, args, rows), shape);
}

// The network, `normalize(i, x)` being the norm of hidden layer i.
template <class Normalize>
Value apply(const Mlp& net, const Args& params, Value x, const std::optional<Value>& key,
            const Normalize& normalize) {
  const std::vector<Linear> all = net.layers();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string name = layer_name(i);
    const Builder::Scope scope(x.builder(), name);
    x = all[i](params.within(name), x);
    if (i + 1 == all.size()) break;
    x = net.activation.apply(normalize(i, x));
    if (key && net.dropout > 0)
      x = limpid::dropout(x, fold_in(*key, static_cast<std::int64_t>(i)), net.dropout);
  }
  return x;
}

}  // namespace

std::vector<Linear> Mlp::layers() const {
  if (sizes.size() < 2)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("mlp: expected at least 2 sizes (in and out), got {}", sizes.size()));
  for (std::int64_t s : sizes)
    if (s < 1) throw Error(ErrorCode::kInvalidArgument, fmt::format("mlp: size {} is below 1", s));
  if (!(dropout >= 0 && dropout < 1))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("mlp: expected a dropout of 0 or more and below 1, got {}", dropout));
  const Init weight_init = init_from_name(init_name, activation.gain);
  std::vector<Linear> all;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i)
    all.push_back({sizes[i], sizes[i + 1], true, weight_init});
  return all;
}

Params Mlp::init(Key key) const {
  Params params;
  const std::vector<Linear> all = layers();
  for (std::size_t i = 0; i < all.size(); ++i) {
    params.merge(layer_name(i), all[i].init(key.fold_in(i)));
    if (i + 1 < all.size()) params.merge(norm_name(i), norm_init(norm, all[i].out));
  }
  return params;
}

Params Mlp::init_state() const {
  Params state;
  if (norm != MlpNorm::kBatch) return state;
  for (std::size_t i = 0; i + 2 < sizes.size(); ++i)
    state.merge(norm_name(i), BatchNorm{sizes[i + 1]}.init_state());
  return state;
}

Value Mlp::operator()(const Args& params, Value x, std::optional<Value> key) const {
  return apply(*this, params, x, key, [&](std::size_t i, const Value& hidden) {
    const Args args = params.within(norm_name(i));
    const std::int64_t features = sizes[i + 1];
    switch (norm) {
      case MlpNorm::kNone:
        return hidden;
      case MlpNorm::kLayer:
        return LayerNorm{features}(args, hidden);
      case MlpNorm::kRms:
        return RmsNorm{features}(args, hidden);
      case MlpNorm::kBatch:
        return batch_norm_of_any_rank(args, hidden);
    }
    return hidden;
  });
}

Mlp::Training Mlp::training(const Args& params, const Args& state, Value x, Value key) const {
  if (norm != MlpNorm::kBatch) return {(*this)(params, x, key), state};
  Args next = state;  // for the order of its names
  const Value logits = apply(*this, params, x, key, [&](std::size_t i, const Value& hidden) {
    const std::string name = norm_name(i);
    const BatchNorm::Result result =
        BatchNorm{sizes[i + 1]}(params.within(name), state.within(name), hidden);
    next.merge(name, result.state);
    return result.y;
  });
  return {logits, next};
}

Function Mlp::function() const {
  // Types only: no random numbers are drawn.
  std::vector<Input> inputs;
  const auto add_vectors = [&](const std::string& name, const Params& of_one,
                               std::int64_t features) {
    for (const auto& [part, tensor] : of_one)
      inputs.push_back({Params::join(name, part), {tensor.dtype(), {features}}});
  };
  const std::vector<Linear> all = layers();
  for (std::size_t i = 0; i < all.size(); ++i) {
    inputs.push_back({layer_name(i) + ".weight", {Dtype::kF32, {all[i].out, all[i].in}}});
    inputs.push_back({layer_name(i) + ".bias", {Dtype::kF32, {all[i].out}}});
    if (i + 1 < all.size()) add_vectors(norm_name(i), norm_init(norm, 1), all[i].out);
  }
  if (norm == MlpNorm::kBatch)
    for (std::size_t i = 0; i + 1 < all.size(); ++i)
      add_vectors(norm_name(i), BatchNorm{1}.init_state(), all[i].out);
  inputs.push_back({"x", {Dtype::kF32, {sizes.front()}}});
  return trace("mlp", inputs,
               [&](std::span<const Value> in) {
                 Args args;
                 for (std::size_t i = 0; i + 1 < in.size(); ++i) args.set(inputs[i].name, in[i]);
                 return std::vector<Value>{(*this)(args, in.back())};
               },
               {"logits"});
}

Json detail::to_json(const Mlp& net) {
  return {{"model", "mlp"},         {"sizes", net.sizes},    {"activation", net.activation.name},
          {"dropout", net.dropout}, {"init", net.init_name}, {"norm", name(net.norm)}};
}

Mlp detail::mlp_of(const JsonView& config) {
  std::vector<std::int64_t> sizes;
  for (const JsonView& size : config.at("sizes").elements()) sizes.push_back(size.as_integer());
  const std::optional<JsonView> norm = config.find("norm");
  Mlp net{std::move(sizes), activation_from_name(config.at("activation").as_string()),
          config.at("dropout").as_number(), config.at("init").as_string(),
          from_name<MlpNorm>(norm ? norm->as_string() : "none")};
  net.layers();
  return net;
}

std::string Mlp::config() const { return detail::to_json(*this).dump(); }
Mlp Mlp::from_config(std::string_view text) {
  return detail::read_config("mlp", text, detail::mlp_of);
}

Mlp mlp(std::vector<std::int64_t> sizes, Value (*activation)(Value), double dropout) {
  return {std::move(sizes), activation_of(activation), dropout, "he", MlpNorm::kNone};
}

std::vector<Input> inputs_of(const Params& params) {
  std::vector<Input> inputs;
  for (const auto& [name, tensor] : params) inputs.push_back({name, tensor.type()});
  return inputs;
}

Args args_of(const Params& params, std::span<const Value> values) {
  Args args;
  std::size_t i = 0;
  for (const auto& [name, tensor] : params) args.set(name, values[i++]);
  return args;
}

}  // namespace limpid::nn
