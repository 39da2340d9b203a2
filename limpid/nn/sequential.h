// Composition of layers in plain C++: in sequence, with residual connections, and as a Function. A
// layer is a value with
//
//   Params init(Key) const the initial parameters, and
//   Value operator()(const Args& params, Value x) const the forward pass,
//
// or with a third argument, std::optional<Value> key, if it draws random numbers in training. A
// function of one Value is a layer without parameters. There is no base class and no registration.
// A layer with state (BatchNorm) is not a layer in this sense: call it directly, as it returns its
// new state.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "limpid/core/error.h"
#include "limpid/core/key.h"
#include "limpid/core/params.h"
#include "limpid/function/builder.h"
#include "limpid/ops/random.h"

namespace limpid::nn {

template <class L>
concept KeyedLayer = requires(const L& layer, const Args& params, Value x,
                              std::optional<Value> key) {
  { layer(params, x, key) } -> std::convertible_to<Value>;
};
template <class L>
concept PlainLayer = requires(const L& layer, const Args& params, Value x) {
  { layer(params, x) } -> std::convertible_to<Value>;
};
template <class L>
concept FunctionLayer = requires(const L& layer, Value x) {
  { layer(x) } -> std::convertible_to<Value>;
};
template <class L>
concept Layer = KeyedLayer<L> || PlainLayer<L> || FunctionLayer<L>;

// The parameters of any layer, and its output. The key is passed on if the layer takes one.
template <Layer L>
Params init_layer(const L& layer, Key key) {
  if constexpr (requires { layer.init(key); })
    return layer.init(key);
  else
    return {};
}
template <Layer L>
Value apply_layer(const L& layer, const Args& params, Value x, std::optional<Value> key = {}) {
  if constexpr (KeyedLayer<L>)
    return layer(params, x, key);
  else if constexpr (PlainLayer<L>)
    return layer(params, x);
  else
    return layer(x);
}

// The key for part i of a layer.
inline std::optional<Value> part_key(const std::optional<Value>& key, std::int64_t i) {
  return key ? std::optional(fold_in(*key, i)) : std::nullopt;
}

// The output of a layer, with the parameters below `name`, in the scope `name`.
template <Layer L>
Value apply_part(const L& layer, const std::string& name, const Args& params, Value x,
                 std::optional<Value> key = {}) {
  const Builder::Scope scope(x.builder(), name);
  return apply_layer(layer, params.within(name), x, key);
}

// A layer with a name: a part of another layer, or of a Sequential.
template <Layer L>
struct NamedLayer {
  std::string name;
  L layer;

  // "name.weight", ...
  Params init(Key key) const {
    Params params;
    params.merge(name, init_layer(layer, key));
    return params;
  }
  // Applies the layer in the scope `name`, with the parameters below `name`.
  Value operator()(const Args& params, Value x, std::optional<Value> key = {}) const {
    return apply_part(layer, name, params, x, key);
  }
};
template <Layer L>
NamedLayer<L> named(std::string name, L layer) {
  return {std::move(name), std::move(layer)};
}

// The parameters of all layers; those of layer i are drawn from key.fold_in(i). Throws
// kInvalidArgument for a name that comes twice: the layers would share the parameter.
template <class... Layers>
Params init_all(Key key, const NamedLayer<Layers>&... layers) {
  Params params;
  std::uint64_t i = 0;
  const auto add = [&](const Params& own) {
    for (const auto& [name, value] : own)
      if (params.find(name))
        throw Error(ErrorCode::kInvalidArgument,
                    "init_all: expected layers of different names, got two with a parameter '" +
                        name + "'");
    params.merge("", own);
  };
  (add(layers.init(key.fold_in(i++))), ...);
  return params;
}

// Layers in sequence. Parameters have the names of PyTorch's Sequential, "0.weight", "2.weight"
// (here layer 1 has no parameters), or those of the NamedLayers.
template <class... Layers>
class Sequential {
 public:
  explicit Sequential(NamedLayer<Layers>... layers) : layers_(std::move(layers)...) {}

  // The parameters of layer i are drawn from key.fold_in(i).
  Params init(Key key) const {
    return std::apply([&](const auto&... layers) { return init_all(key, layers...); }, layers_);
  }

  // The output of the last layer. Layer i gets part_key(key, i).
  Value operator()(const Args& params, Value x, std::optional<Value> key = {}) const {
    std::int64_t i = 0;
    for_each([&](const auto& l) {
      x = apply_part(l.layer, l.name, params, x, key_of(l.layer, key, i++));
    });
    return x;
  }

 private:
  template <class F>
  void for_each(const F& f) const {
    std::apply([&](const auto&... layers) { (f(layers), ...); }, layers_);
  }
  // No key is made for a layer that takes none.
  template <class L>
  static std::optional<Value> key_of(const L&, const std::optional<Value>& key, std::int64_t i) {
    if constexpr (KeyedLayer<L>)
      return part_key(key, i);
    else
      return {};
  }

  std::tuple<NamedLayer<Layers>...> layers_;
};

namespace detail {

template <Layer L>
NamedLayer<L> numbered(std::size_t i, L layer) {
  return {std::to_string(i), std::move(layer)};
}
template <class L>
NamedLayer<L> numbered(std::size_t, NamedLayer<L> layer) {
  return layer;
}

template <std::size_t... places, class... Layers>
auto sequential(std::index_sequence<places...>, Layers... layers) {
  return Sequential(numbered(places, std::move(layers))...);
}

}  // namespace detail

// sequential(Linear{2, 8}, relu, named("head", Linear{8, 1}))
template <class... Layers>
auto sequential(Layers... layers) {
  static_assert((Layer<Layers> && ...),
                "sequential: expected layers: objects called with (params, x), or functions of x");
  return detail::sequential(std::index_sequence_for<Layers...>(), std::move(layers)...);
}

// x + f(x). The parameters keep their names. C++ takes Residual{Residual{f}} for a copy of
// Residual{f}.
template <Layer L>
struct Residual {
  L layer;

  // The layer's parameters, and x plus its output, which must have the shape of x.
  Params init(Key key) const { return init_layer(layer, key); }
  Value operator()(const Args& params, Value x, std::optional<Value> key = {}) const {
    return x + apply_layer(layer, params, x, key);
  }
};
template <Layer L>
Residual(L) -> Residual<L>;

// x + f(norm(x)). Parameters: those of the norm below "norm", those of f below "layer".
template <Layer Norm, Layer L>
struct PreNorm {
  Norm norm;
  L layer;

  // "norm.<name>" and "layer.<name>".
  Params init(Key key) const {
    Params params;
    params.merge("norm", init_layer(norm, key.fold_in(0)));
    params.merge("layer", init_layer(layer, key.fold_in(1)));
    return params;
  }
  // x to the same shape.
  Value operator()(const Args& params, Value x, std::optional<Value> key = {}) const {
    return x + apply_part(layer, "layer", params, apply_part(norm, "norm", params, x), key);
  }
};
template <Layer Norm, Layer L>
PreNorm(Norm, L) -> PreNorm<Norm, L>;

// norm(x + f(x)), with the parameter names of PreNorm.
template <Layer Norm, Layer L>
struct PostNorm {
  Norm norm;
  L layer;

  // The parameters, as those of PreNorm.
  Params init(Key key) const { return PreNorm<Norm, L>{norm, layer}.init(key); }
  Value operator()(const Args& params, Value x, std::optional<Value> key = {}) const {
    return apply_part(norm, "norm", params, x + apply_part(layer, "layer", params, x, key));
  }
};
template <Layer Norm, Layer L>
PostNorm(Norm, L) -> PostNorm<Norm, L>;

// The layer at inference as a Function. Inputs: its parameters, then "x" of the given type. Output:
// "y".
template <Layer L>
Function function_of(const L& layer, const Type& x, const std::string& name = "model") {
  std::vector<Input> inputs;
  for (const auto& [parameter, value] : init_layer(layer, Key(0)))
    inputs.push_back({parameter, value.type()});
  inputs.push_back({"x", x});
  return trace(name, inputs,
               [&](std::span<const Value> in) {
                 Args args;
                 for (std::size_t i = 0; i + 1 < in.size(); ++i) args.set(inputs[i].name, in[i]);
                 return std::vector<Value>{apply_layer(layer, args, in.back())};
               },
               {"y"});
}

}  // namespace limpid::nn
