#include "limpid/nn/mlp.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/ops/random.h"

namespace limpid::nn {
namespace {

std::string layer_name(std::size_t i) { return fmt::format("layers.{}", i); }

}  // namespace

std::vector<Linear> Mlp::layers() const {
  if (sizes.size() < 2)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("mlp: {} sizes, at least 2 (in and out) are expected", sizes.size()));
  for (std::int64_t s : sizes)
    if (s < 1) throw Error(ErrorCode::kInvalidArgument, fmt::format("mlp: size {} is below 1", s));
  const Init weight_init = init_from_name(init_name, activation.gain);
  std::vector<Linear> all;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i)
    all.push_back({sizes[i], sizes[i + 1], true, weight_init});
  return all;
}

Params Mlp::init(Key key) const {
  Params params;
  const std::vector<Linear> all = layers();
  for (std::size_t i = 0; i < all.size(); ++i)
    params.merge(layer_name(i), all[i].init(key.fold_in(i)));
  return params;
}

Value Mlp::operator()(const Args& params, Value x, std::optional<Value> key) const {
  const std::vector<Linear> all = layers();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string name = layer_name(i);
    const Builder::Scope scope(x.builder(), name);
    x = all[i](params.within(name), x);
    if (i + 1 == all.size()) break;
    x = activation.apply(x);
    if (key && dropout > 0)
      x = limpid::dropout(x, fold_in(*key, static_cast<std::int64_t>(i)), dropout);
  }
  return x;
}

Function Mlp::function() const {
  // Types only: nothing is drawn.
  std::vector<Input> inputs;
  const std::vector<Linear> all = layers();
  for (std::size_t i = 0; i < all.size(); ++i) {
    inputs.push_back({layer_name(i) + ".weight", {Dtype::kF32, {all[i].out, all[i].in}}});
    inputs.push_back({layer_name(i) + ".bias", {Dtype::kF32, {all[i].out}}});
  }
  inputs.push_back({"x", {Dtype::kF32, {sizes.front()}}});
  return trace("mlp", inputs,
               [&](std::span<const Value> in) {
                 Args args;
                 for (std::size_t i = 0; i + 1 < in.size(); ++i) args.set(inputs[i].name, in[i]);
                 return std::vector<Value>{(*this)(args, in.back())};
               },
               {"logits"});
}

std::string Mlp::config() const {
  return nlohmann::ordered_json{{"model", "mlp"},
                                {"sizes", sizes},
                                {"activation", std::string(activation.name)},
                                {"dropout", dropout},
                                {"init", init_name}}
      .dump();
}

Mlp Mlp::from_config(std::string_view json) {
  try {
    const auto parsed = nlohmann::json::parse(json);
    if (parsed.at("model") != "mlp")
      throw Error(ErrorCode::kInvalidArgument, "mlp: the configuration is of another model");
    Mlp net{parsed.at("sizes").get<std::vector<std::int64_t>>(),
            activation_from_name(parsed.at("activation").get<std::string>()),
            parsed.at("dropout").get<double>(), parsed.at("init").get<std::string>()};
    net.layers();
    return net;
  } catch (const nlohmann::json::exception& e) {
    throw Error(ErrorCode::kParse, fmt::format("mlp: configuration: {}", e.what()));
  }
}

Mlp mlp(std::vector<std::int64_t> sizes, Value (*activation)(Value), double dropout) {
  return {std::move(sizes), activation_of(activation), dropout, "he"};
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
