#include "limpid/nn/text_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "limpid/core/error.h"
#include "limpid/nn/detail/config.h"
#include "limpid/nn/detail/heads.h"
#include "limpid/nn/embedding.h"
#include "limpid/nn/linear.h"
#include "limpid/nn/norm.h"
#include "limpid/nn/rotary.h"
#include "limpid/nn/sequential.h"
#include "limpid/ops/ops.h"

namespace limpid::nn {
namespace {

using detail::join_heads;
using detail::split_heads;

constexpr const char* kTokenTable = "embed_tokens";
constexpr const char* kPlaceTable = "embed_positions";
constexpr const char* kTypeTable = "embed_types";
constexpr const char* kDistanceTable = "embed_distances";
constexpr const char* kTableNorm = "embed_norm";
constexpr const char* kFirstOfHead = "head";
constexpr const char* kLastOfHead = "classifier";
constexpr double kSpread = 0.02;

std::string name_of_block(std::int64_t i) { return fmt::format("layers.{}", i); }

Linear spread_linear(std::int64_t in, std::int64_t out) { return {in, out, true, normal(kSpread)}; }
LayerNorm encoder_norm(const TextEncoder& net) { return {net.width, net.norm_eps}; }
Embedding embedding_table(std::int64_t rows, std::int64_t width) {
  return {rows, width, normal(kSpread)};
}

// A number of `like`'s shape.
Value filled_like(const Value& like, float number) {
  return broadcast(constant(like.builder(), Tensor::scalar(number)), like.shape());
}

// The row of the table of distances for a key that is `distance` places after its query: half of
// the rows for each direction, of those half for the nearest places, the others for distances that
// grow as powers, up to 128.
std::int64_t row_of_distance(std::int64_t distance, std::int64_t rows) {
  constexpr double kFar = 128;
  const std::int64_t half = rows / 2, exact = half / 2;
  const std::int64_t first = distance > 0 ? half : 0, n = distance < 0 ? -distance : distance;
  if (n < exact) return first + n;
  const double nearest = static_cast<double>(exact);
  const double share = exact_log(static_cast<double>(n) / nearest) / exact_log(kFar / nearest);
  // A distance that is a power to the bit belongs to the row that begins with it.
  constexpr double kRounding = 1e-9;
  const auto more =
      static_cast<std::int64_t>(share * static_cast<double>(half - exact) + kRounding);
  return first + std::min(exact + more, half - 1);
}

// What all blocks add to their scores, f32 (heads, length, length).
Value bias_of_distances(const TextEncoder& net, const Args& params, Builder& builder,
                        std::int64_t length) {
  const Builder::Scope scope(builder, kDistanceTable);
  const Tensor rows =
      Tensor::generate<std::int32_t>({length, length}, [&](std::span<std::int32_t> out) {
        for (std::int64_t q = 0; q < length; ++q)
          for (std::int64_t k = 0; k < length; ++k)
            out[static_cast<std::size_t>(q * length + k)] =
                static_cast<std::int32_t>(row_of_distance(k - q, net.distances));
      });
  const Value weight = params.at(Params::join(kDistanceTable, "weight"));
  return transpose(gather(weight, constant(builder, rows)), {2, 0, 1});
}

struct SelfAttention {
  const TextEncoder& net;
  Value mask = {};

  Linear projection() const { return spread_linear(net.width, net.width); }
  Params init(Key key) const {
    Params params;
    std::uint64_t i = 0;
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
      params.merge(name, projection().init(key.fold_in(i++)));
    return params;
  }
  Value operator()(const Args& params, const Value& x) const {
    const auto heads = [&](const char* name) {
      return split_heads(apply_part(projection(), name, params, x), net.heads);
    };
    const Value q = heads("q_proj"), k = heads("k_proj"), v = heads("v_proj");
    const Value mixed = scaled_dot_product_attention(q, k, v, {.mask = mask});
    return apply_part(projection(), "o_proj", params, join_heads(mixed));
  }
};

struct EncoderMlp {
  const TextEncoder& net;

  Params init(Key key) const {
    Params params;
    params.merge("up_proj", spread_linear(net.width, net.hidden).init(key.fold_in(0)));
    params.merge("down_proj", spread_linear(net.hidden, net.width).init(key.fold_in(1)));
    return params;
  }
  Value operator()(const Args& params, const Value& x) const {
    const Value h = apply_part(spread_linear(net.width, net.hidden), "up_proj", params, x);
    const Value active = net.activation == EncoderActivation::kRelu   ? relu(h)
                         : net.activation == EncoderActivation::kGelu ? gelu(h)
                                                                      : gelu_tanh(h);
    return apply_part(spread_linear(net.hidden, net.width), "down_proj", params, active);
  }
};

// Post-norm: norm(x + attention(x)), then norm(x + feed_forward(x)).
struct EncoderBlock {
  const TextEncoder& net;
  Value mask = {};

  Params init(Key key) const {
    Params params;
    params.merge("self_attn", SelfAttention{net}.init(key.fold_in(0)));
    params.merge("self_attn_norm", encoder_norm(net).init(key));
    params.merge("mlp", EncoderMlp{net}.init(key.fold_in(1)));
    params.merge("mlp_norm", encoder_norm(net).init(key));
    return params;
  }
  Value operator()(const Args& params, const Value& x) const {
    const Value mixed = apply_part(SelfAttention{net, mask}, "self_attn", params, x);
    const Value y = apply_part(encoder_norm(net), "self_attn_norm", params, x + mixed);
    const Value fed = apply_part(EncoderMlp{net}, "mlp", params, y);
    return apply_part(encoder_norm(net), "mlp_norm", params, y + fed);
  }
};

// Which tokens are of the text: the first `count`, bool [length].
Value of_text(const Value& tokens, const Value& count) {
  const Value places = iota(tokens.builder(), tokens.shape()[0]);
  return less(places, broadcast(count, places.shape()));
}

// The vector of the text, f32 [width].
Value pooled_text(const TextEncoder& net, const Value& x, const Value& tokens, const Value& count) {
  const Builder::Scope scope(x.builder(), "pooling");
  if (net.classes > 0 || net.pooling == TextPooling::kFirst)
    return reshape(slice(x, 0, 0, 1), {net.width});
  const Value seen = expand_axis(of_text(tokens, count), x.shape(), 1);
  if (net.pooling == TextPooling::kMax)
    return max(select(seen, x, filled_like(x, -std::numeric_limits<float>::infinity())), 0);
  const Value total = sum(select(seen, x, filled_like(x, 0)), 0);
  const Value number = maximum(cast(count, Dtype::kF32), filled_like(cast(count, Dtype::kF32), 1));
  return total / broadcast(number, total.shape());
}

Value class_logits(const TextEncoder& net, const Args& params, const Value& x) {
  const Value h = apply_part(spread_linear(net.width, net.width), kFirstOfHead, params, x);
  const Value active = net.head == EncoderHead::kTanh ? tanh(h) : relu(h);
  return apply_part(spread_linear(net.width, net.classes), kLastOfHead, params, active);
}

}  // namespace

void TextEncoder::check() const {
  const auto check_size = [&](std::string_view what, std::int64_t size, std::int64_t least,
                              std::int64_t most) {
    if (size < least || size > most)
      throw Error(
          ErrorCode::kInvalidArgument,
          fmt::format("text encoder: {} is {}, expected {} to {}", what, size, least, most));
  };
  check_size("vocabulary", vocabulary, 1, kMaxSize);
  check_size("context", context, 1, kMaxContext);
  check_size("layers", layers, 1, kMaxLayers);
  check_size("width", width, 1, kMaxSize);
  check_size("heads", heads, 1, kMaxSize);
  check_size("hidden", hidden, 1, kMaxSize);
  check_size("token_types", token_types, 0, kMaxSize);
  check_size("distances", distances, 0, kMaxSize);
  check_size("classes", classes, 0, kMaxSize);
  if (width % heads != 0)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("text encoder: expected heads that divide the width, got a width of {} "
                            "and {} heads",
                            width, heads));
  if (distances % 4 != 0 || distances / 4 >= 128)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("text encoder: distances is {}, expected a multiple of 4 below 512",
                            distances));
  if (!(norm_eps > 0))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("text encoder: norm_eps is {}, expected more than 0", norm_eps));
}

Params TextEncoder::init(Key key) const {
  check();
  Params params;
  params.merge(kTokenTable, embedding_table(vocabulary, width).init(key.fold_in(0)));
  params.merge(kPlaceTable, embedding_table(context, width).init(key.fold_in(1)));
  if (token_types > 0)
    params.merge(kTypeTable, embedding_table(token_types, width).init(key.fold_in(2)));
  params.merge(kTableNorm, encoder_norm(*this).init(key));
  if (distances > 0)
    params.merge(kDistanceTable, embedding_table(distances, heads).init(key.fold_in(3)));
  for (std::int64_t i = 0; i < layers; ++i)
    params.merge(name_of_block(i),
                 EncoderBlock{*this}.init(key.fold_in(4).fold_in(static_cast<std::uint64_t>(i))));
  if (classes > 0) {
    params.merge(kFirstOfHead, spread_linear(width, width).init(key.fold_in(5)));
    params.merge(kLastOfHead, spread_linear(width, classes).init(key.fold_in(6)));
  }
  return params;
}

std::vector<Input> TextEncoder::parameters() const {
  check();
  std::vector<Input> all;
  const auto add = [&](const std::string& name, std::initializer_list<std::int64_t> shape) {
    all.push_back({name, {Dtype::kF32, Shape(shape)}});
  };
  const auto add_linear = [&](const std::string& name, std::int64_t in, std::int64_t out) {
    add(name + ".weight", {out, in});
    add(name + ".bias", {out});
  };
  const auto add_norm = [&](const std::string& name) {
    add(name + ".weight", {width});
    add(name + ".bias", {width});
  };
  add("embed_tokens.weight", {vocabulary, width});
  add("embed_positions.weight", {context, width});
  if (token_types > 0) add("embed_types.weight", {token_types, width});
  add_norm(kTableNorm);
  if (distances > 0) add("embed_distances.weight", {distances, heads});
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string block = name_of_block(i);
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
      add_linear(fmt::format("{}.self_attn.{}", block, name), width, width);
    add_norm(block + ".self_attn_norm");
    add_linear(block + ".mlp.up_proj", width, hidden);
    add_linear(block + ".mlp.down_proj", hidden, width);
    add_norm(block + ".mlp_norm");
  }
  if (classes > 0) {
    add_linear(kFirstOfHead, width, width);
    add_linear(kLastOfHead, width, classes);
  }
  return all;
}

Value TextEncoder::operator()(const Args& params, Value tokens, Value count,
                              const std::optional<Value>& second) const {
  check();
  if (second && token_types < 2)
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("text encoder: a second type of tokens, but token_types is {}", token_types));
  if (tokens.rank() != 1 || tokens.shape()[0] > context || tokens.shape()[0] < 1 ||
      count.rank() != 0)
    throw Error(ErrorCode::kShape,
                fmt::format("text encoder: expected tokens [length] with a length of 1 to {} and a "
                            "scalar count, got {} and {}",
                            context, to_string(tokens.type()), to_string(count.type())));
  const std::int64_t length = tokens.shape()[0];
  Value x = apply_part(embedding_table(vocabulary, width), kTokenTable, params, tokens);
  {
    const Builder::Scope scope(x.builder(), kPlaceTable);
    x = x + slice(params.at(Params::join(kPlaceTable, "weight")), 0, 0, length);
  }
  if (token_types > 0) {
    const Builder::Scope scope(x.builder(), kTypeTable);
    const auto row = [&](std::int64_t type) {
      const Value one = slice(params.at(Params::join(kTypeTable, "weight")), 0, type, type + 1);
      return broadcast(reshape(one, {width}), x.shape());
    };
    x = x + (second ? select(expand_axis(of_text(tokens, *second), x.shape(), 1), row(0), row(1))
                    : row(0));
  }
  x = apply_part(encoder_norm(*this), kTableNorm, params, x);
  Value mask = reshape(of_text(tokens, count), {1, 1, length});
  if (distances > 0) {
    const Value bias = bias_of_distances(*this, params, x.builder(), length);
    mask = select(broadcast(mask, bias.shape()), bias,
                  filled_like(bias, -std::numeric_limits<float>::infinity()));
  }
  for (std::int64_t i = 0; i < layers; ++i)
    x = apply_part(EncoderBlock{*this, mask}, name_of_block(i), params, x);
  return x;
}

Function TextEncoder::function(std::int64_t length, bool pair) const {
  std::vector<Input> inputs = parameters();
  const std::size_t params = inputs.size();
  inputs.push_back({"tokens", {Dtype::kI32, {length == 0 ? context : length}}});
  inputs.push_back({"count", {Dtype::kI32, {}}});
  if (pair) inputs.push_back({"second", {Dtype::kI32, {}}});
  const auto code = [&](std::span<const Value> in) {
    Args args;
    for (std::size_t i = 0; i < params; ++i) args.set(inputs[i].name, in[i]);
    const Value tokens = in[params], count = in[params + 1];
    const std::optional<Value> second = pair ? std::optional(in[params + 2]) : std::nullopt;
    const Value text = pooled_text(*this, (*this)(args, tokens, count, second), tokens, count);
    if (classes > 0) return std::vector<Value>{class_logits(*this, args, text)};
    return std::vector<Value>{normalize ? limpid::normalize(text) : text};
  };
  return trace("text_encoder", inputs, code, {classes > 0 ? "logits" : "embedding"});
}

// Powers of two, and one between each two of them.
std::int64_t TextEncoder::padded(std::int64_t count) const {
  std::int64_t length = 8;
  while (length < count) length = (length & (length - 1)) == 0 ? length / 2 * 3 : length / 3 * 4;
  return std::min(length, context);
}

std::string TextEncoder::config() const {
  return Json{{"model", "text_encoder"},
              {"vocabulary", vocabulary},
              {"context", context},
              {"layers", layers},
              {"width", width},
              {"heads", heads},
              {"hidden", hidden},
              {"token_types", token_types},
              {"distances", distances},
              {"norm_eps", norm_eps},
              {"activation", name(activation)},
              {"pooling", name(pooling)},
              {"normalize", normalize},
              {"classes", classes},
              {"head", name(head)}}
      .dump();
}

TextEncoder TextEncoder::from_config(std::string_view text) {
  return detail::read_config("text_encoder", text, [](const JsonView& config) {
    const TextEncoder net{
        .vocabulary = config.at("vocabulary").as_integer(),
        .context = config.at("context").as_integer(),
        .layers = config.at("layers").as_integer(),
        .width = config.at("width").as_integer(),
        .heads = config.at("heads").as_integer(),
        .hidden = config.at("hidden").as_integer(),
        .token_types = config.at("token_types").as_integer(),
        .distances = config.at("distances").as_integer(),
        .norm_eps = config.at("norm_eps").as_number(),
        .activation = from_name<EncoderActivation>(config.at("activation").as_string()),
        .pooling = from_name<TextPooling>(config.at("pooling").as_string()),
        .normalize = config.at("normalize").as_bool(),
        .classes = config.at("classes").as_integer(),
        .head = from_name<EncoderHead>(config.at("head").as_string())};
    net.check();
    return net;
  });
}

}  // namespace limpid::nn
