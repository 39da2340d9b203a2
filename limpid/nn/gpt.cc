#include "limpid/nn/gpt.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "limpid/core/error.h"
#include "limpid/nn/detail/config.h"
#include "limpid/nn/detail/heads.h"
#include "limpid/nn/dropout.h"
#include "limpid/nn/embedding.h"
#include "limpid/nn/norm.h"
#include "limpid/nn/rotary.h"
#include "limpid/nn/sequential.h"
#include "limpid/ops/ops.h"

namespace limpid::nn {
namespace {

using detail::join_heads;
using detail::split_heads;

constexpr const char* kTokens = "embed_tokens";
constexpr const char* kPositionTable = "embed_positions";
constexpr const char* kHead = "lm_head";

constexpr double kMaxScale = 1e6;

std::string block_name(std::int64_t i) { return fmt::format("layers.{}", i); }

// ---- the layers of a net

constexpr double kStd = 0.02;

Embedding tokens_of(const Gpt& net) { return {net.vocabulary, net.width, normal(kStd)}; }
Embedding positions_of(const Gpt& net) { return {net.context, net.width, normal(kStd)}; }

Linear inner(std::int64_t in, std::int64_t out, bool bias) { return {in, out, bias, normal(kStd)}; }
// A projection into the residual stream.
Linear outer(const Gpt& net, std::int64_t in, bool bias) {
  return {in, net.width, bias, depth_scaled_normal(net.layers, kStd)};
}

bool is_gated(GptFeedForward kind) {
  return kind == GptFeedForward::kSwiglu || kind == GptFeedForward::kGeglu ||
         kind == GptFeedForward::kGegluTanh;
}

Json json_of(const RotaryScaling& s) {
  return {{"factor", s.factor}, {"low", s.low}, {"high", s.high}, {"context", s.context}};
}

std::optional<RotaryScaling> rotary_scaling_of(const JsonView& config) {
  const std::optional<JsonView> s = config.find("rotary_scaling");
  if (!s) return {};
  return RotaryScaling{.factor = s->at("factor").as_number(),
                       .low = s->at("low").as_number(),
                       .high = s->at("high").as_number(),
                       .context = s->at("context").as_integer()};
}

// Options that a configuration has where they are not those of most nets.
constexpr std::pair<const char*, bool Gpt::*> kFlags[] = {
    {"query_bias", &Gpt::query_bias},
    {"output_bias", &Gpt::output_bias},
    {"feed_forward_bias", &Gpt::feed_forward_bias},
    {"head_bias", &Gpt::head_bias},
    {"pre_norm", &Gpt::pre_norm},
    {"post_norm", &Gpt::post_norm},
    {"parallel", &Gpt::parallel},
    {"shared_norm", &Gpt::shared_norm}};
constexpr std::pair<const char*, double Gpt::*> kNumbers[] = {
    {"rotary_gain", &Gpt::rotary_gain},
    {"local_rotary_base", &Gpt::local_rotary_base},
    {"embedding_scale", &Gpt::embedding_scale},
    {"residual_scale", &Gpt::residual_scale},
    {"attention_scale", &Gpt::attention_scale},
    {"logit_scale", &Gpt::logit_scale},
    {"logit_cap", &Gpt::logit_cap}};
constexpr std::pair<const char*, std::int64_t Gpt::*> kCounts[] = {
    {"head_size", &Gpt::head_size}, {"rotary_size", &Gpt::rotary_size}};

struct Norm {
  const Gpt& net;

  Params init(Key key) const {
    return net.norm == GptNorm::kLayer ? LayerNorm{net.width, net.norm_eps}.init(key)
                                       : RmsNorm{net.width, net.norm_eps}.init(key);
  }
  Value operator()(const Args& params, const Value& x) const {
    return net.norm == GptNorm::kLayer ? LayerNorm{net.width, net.norm_eps}(params, x)
                                       : RmsNorm{net.width, net.norm_eps}(params, x);
  }
};

struct KeysAndValues {
  Value keys, values;
};

// The angles of global and of local rotations.
struct Rotations {
  std::optional<RotaryAngles> global, local;

  // For positions i32 (n); every angle gets `shape`, if there is one.
  Rotations(const Gpt& net, const Value& positions, const std::optional<Shape>& shape = {}) {
    const auto angles = [&](double base, bool scaled) {
      RotaryAngles made = rotary_angles(
          positions,
          scaled ? rotary_frequencies(net.rotated(), base, net.rotary_scaling, net.rotary_divisors)
                 : rotary_frequencies(net.rotated(), base));
      if (scaled && net.rotary_gain != 1) {
        made.cos = made.cos * net.rotary_gain;
        made.sin = made.sin * net.rotary_gain;
      }
      return shape ? RotaryAngles{reshape(made.cos, *shape), reshape(made.sin, *shape)} : made;
    };
    const auto has = [&](GptRotation kind) {
      return std::find(net.rotations.begin(), net.rotations.end(), kind) != net.rotations.end();
    };
    if (net.rotations.empty() || has(GptRotation::kGlobal)) global = angles(net.rotary_base, true);
    if (has(GptRotation::kLocal)) local = angles(net.local_rotary_base, false);
  }
};

// What the blocks have in common.
struct Setting {
  std::optional<Rotations> rotations;  // where positions are rotary
  std::optional<Value> positions;      // of sequences with caches
  std::vector<KeysAndValues> caches;   // of every block
};

// Self-attention: causal, or over a cache.
struct Attention {
  const Gpt& net;
  Setting* setting = nullptr;
  std::size_t block = 0;

  bool inner_bias() const { return net.bias || net.query_bias; }
  Linear query() const { return inner(net.width, net.heads * net.head(), inner_bias()); }
  Linear key_or_value() const {
    return inner(net.width, net.key_heads() * net.head(), inner_bias());
  }
  Linear output() const { return outer(net, net.heads * net.head(), net.bias || net.output_bias); }
  // Of queries, or of keys, that have so many heads.
  RmsNorm head_norm(std::int64_t of_heads) const {
    return {net.head_norm == GptHeadNorm::kEach ? net.head() : of_heads * net.head(), net.norm_eps};
  }

  Params init(Key key) const {
    Params params;
    params.merge("q_proj", query().init(key.fold_in(0)));
    params.merge("k_proj", key_or_value().init(key.fold_in(1)));
    params.merge("v_proj", key_or_value().init(key.fold_in(2)));
    params.merge("o_proj", output().init(key.fold_in(3)));
    if (net.head_norm != GptHeadNorm::kNone) {
      params.merge("q_norm", head_norm(net.heads).init(key));
      params.merge("k_norm", head_norm(net.key_heads()).init(key));
    }
    return params;
  }

  // Queries or keys: (..., length, heads * head) to (..., heads, length, head), normed and turned.
  Value prepared(const Args& params, const char* norm, const Value& x,
                 std::int64_t of_heads) const {
    const bool all = net.head_norm == GptHeadNorm::kAll;
    Value y = split_heads(all ? apply_part(head_norm(of_heads), norm, params, x) : x, of_heads);
    if (net.head_norm == GptHeadNorm::kEach) y = apply_part(head_norm(of_heads), norm, params, y);
    const GptRotation rotation = net.rotation(block);
    if (!setting->rotations || rotation == GptRotation::kNone) return y;
    const auto& angles =
        rotation == GptRotation::kLocal ? setting->rotations->local : setting->rotations->global;
    return rotary_embedding(y, angles->cos, angles->sin);
  }

  Value attend(const Value& q, const Value& k, const Value& v) const {
    if (!setting->positions)
      return scaled_dot_product_attention(q, k, v, {.causal = true, .scale = net.attention_scale});
    KeysAndValues& cache = setting->caches[block];
    cache.keys = update_rows(cache.keys, transpose(k, {0, 1, 3, 2}), *setting->positions, -1);
    cache.values = update_rows(cache.values, v, *setting->positions, -2);
    return cached_attention(q, cache.keys, cache.values, *setting->positions, net.attention_scale);
  }

  Value operator()(const Args& params, const Value& x) const {
    const Value q = prepared(params, "q_norm", apply_part(query(), "q_proj", params, x), net.heads);
    const Value k = prepared(params, "k_norm", apply_part(key_or_value(), "k_proj", params, x),
                             net.key_heads());
    const Value v = split_heads(apply_part(key_or_value(), "v_proj", params, x), net.key_heads());
    const Value mixed = attend(q, k, v);
    return apply_part(output(), "o_proj", params, join_heads(mixed));
  }
};

struct GptMlp {
  const Gpt& net;

  bool gated() const { return is_gated(net.feed_forward); }
  bool bias() const { return net.bias || net.feed_forward_bias; }
  Linear up() const { return inner(net.width, net.hidden_width(), bias()); }
  Linear down() const { return outer(net, net.hidden_width(), bias()); }

  Params init(Key key) const {
    Params params;
    if (gated()) params.merge("gate_proj", up().init(key.fold_in(0)));
    params.merge("up_proj", up().init(key.fold_in(1)));
    params.merge("down_proj", down().init(key.fold_in(2)));
    return params;
  }

  Value operator()(const Args& params, const Value& x) const {
    const auto hidden = [&] {
      using enum GptFeedForward;
      if (gated()) {
        const Value gate = apply_part(up(), "gate_proj", params, x);
        const Value value = apply_part(up(), "up_proj", params, x);
        if (net.feed_forward == kSwiglu) return swiglu(gate, value);
        return net.feed_forward == kGeglu ? geglu(gate, value) : gelu_tanh(gate) * value;
      }
      const Value h = apply_part(up(), "up_proj", params, x);
      if (net.feed_forward == kRelu) return relu(h);
      return net.feed_forward == kGelu ? gelu(h) : gelu_tanh(h);
    };
    return apply_part(down(), "down_proj", params, hidden());
  }
};

struct Block {
  const Gpt& net;
  Setting* setting = nullptr;
  std::size_t index = 0;

  Params init(Key key) const {
    Params params;
    if (net.pre_norm) params.merge("input_layernorm", Norm{net}.init(key));
    params.merge("self_attn", Attention{net}.init(key.fold_in(0)));
    if (net.post_norm) params.merge("attention_output_layernorm", Norm{net}.init(key));
    if (net.pre_norm && !net.shared_norm)
      params.merge("post_attention_layernorm", Norm{net}.init(key));
    params.merge("mlp", GptMlp{net}.init(key.fold_in(1)));
    if (net.post_norm) params.merge("mlp_output_layernorm", Norm{net}.init(key));
    return params;
  }

  Value operator()(const Args& params, Value x, const std::optional<Value>& key) const {
    const Dropout dropout{net.dropout};
    const auto normed = [&](bool norms, const char* name, const Value& y) {
      return norms ? apply_part(Norm{net}, name, params, y) : y;
    };
    // What is added to x.
    const auto added = [&](const char* name, const Value& y, std::int64_t i) {
      const Value z = dropout({}, normed(net.post_norm, name, y), part_key(key, i));
      return net.residual_scale == 1 ? z : z * net.residual_scale;
    };
    const Value seen = normed(net.pre_norm, "input_layernorm", x);
    const Value mixed = apply_part(Attention{net, setting, index}, "self_attn", params, seen);
    const Value before = x;
    x = x + added("attention_output_layernorm", mixed, 0);
    const Value fed_with = net.shared_norm ? seen
                                           : normed(net.pre_norm, "post_attention_layernorm",
                                                    net.parallel ? before : x);
    const Value fed = apply_part(GptMlp{net}, "mlp", params, fed_with);
    return x + added("mlp_output_layernorm", fed, 1);
  }
};

// ---- the blocks, the final norm and the output projection

Value through_blocks(const Gpt& net, const Args& params, Value x, Setting& setting,
                     const std::optional<Value>& key) {
  x = Dropout{net.dropout}({}, x, part_key(key, net.layers));
  for (std::int64_t i = 0; i < net.layers; ++i)
    x = apply_part(Block{net, &setting, static_cast<std::size_t>(i)}, block_name(i), params, x,
                   part_key(key, i));
  return x;
}

Value logits_of(const Gpt& net, const Args& params, const Value& x) {
  const Value normed = apply_part(Norm{net}, "norm", params, x);
  const Builder::Scope scope(x.builder(), kHead);
  const Value weight = params.at(Params::join(net.tied ? kTokens : kHead, "weight"));
  Value logits = net.head_bias ? linear(normed, weight, params.at(Params::join(kHead, "bias")))
                               : linear(normed, weight);
  if (net.logit_scale != 1) logits = logits * net.logit_scale;
  if (net.logit_cap > 0) logits = tanh(logits * (1 / net.logit_cap)) * net.logit_cap;
  return logits;
}

Value embedded(const Gpt& net, const Args& params, const Value& ids) {
  const Value x = apply_part(tokens_of(net), kTokens, params, ids);
  return net.embedding_scale == 1 ? x : x * net.embedding_scale;
}

}  // namespace

// ---- choices

Gpt gpt2_shaped() { return {.feed_forward = GptFeedForward::kGeluTanh, .bias = true}; }
Gpt llama_shaped() {
  return {.norm = GptNorm::kRms,
          .feed_forward = GptFeedForward::kSwiglu,
          .positions = GptPositions::kRotary,
          .tied = false};
}

// ---- the net

std::int64_t Gpt::hidden_width() const {
  if (hidden > 0) return hidden;
  return is_gated(feed_forward) ? 8 * width / 3 : 4 * width;
}

void Gpt::check() const {
  const auto refuse = [](const std::string& why) {
    throw Error(ErrorCode::kInvalidArgument, "gpt: " + why);
  };
  const auto check_size = [&](std::string_view what, std::int64_t size, std::int64_t most) {
    if (size < 1 || size > most)
      refuse(fmt::format("{} is {}, expected 1 to {}", what, size, most));
  };
  check_size("vocabulary", vocabulary, kMaxSize);
  check_size("context", context, kMaxSize);
  check_size("layers", layers, kMaxLayers);
  check_size("width", width, kMaxSize);
  check_size("heads", heads, kMaxSize);
  check_size("hidden", hidden_width(), kMaxSize);
  if (kv_heads < 0 || (head_size == 0 && width % heads != 0) || heads % key_heads() != 0)
    refuse(
        fmt::format("expected heads that divide the width and key/value heads that divide the "
                    "heads, got a width of {}, {} heads and {} key/value heads",
                    width, heads, key_heads()));
  check_size("head_size", head(), kMaxSize);
  if (positions == GptPositions::kRotary) {
    check_rotary(rotated(), rotary_base, rotary_scaling);
    check_rotary(rotated(), local_rotary_base, {});
    if (rotated() > head())
      refuse(fmt::format("rotary_size is {}, expected at most {}, the head's size", rotated(),
                         head()));
    check_divisors(rotated(), rotary_divisors);
    if (!rotations.empty() && static_cast<std::int64_t>(rotations.size()) != layers)
      refuse(fmt::format("expected a rotation for each of {} layers, got {}", layers,
                         rotations.size()));
  }
  if ((shared_norm && !(parallel && pre_norm)) || (head_bias && tied))
    refuse(
        "expected shared_norm in parallel blocks with pre_norm only, and head_bias with an "
        "output projection that is not tied");
  for (const auto& [what, scale] : {std::pair("rotary_gain", rotary_gain),
                                    {"embedding_scale", embedding_scale},
                                    {"residual_scale", residual_scale},
                                    {"logit_scale", logit_scale}})
    if (!(std::abs(scale) <= kMaxScale))
      refuse(fmt::format("{} is {}, expected a number up to {}", what, scale, kMaxScale));
  if (!(attention_scale >= 0 && attention_scale <= kMaxScale && logit_cap >= 0 &&
        logit_cap <= kMaxScale))
    refuse(fmt::format("expected an attention_scale and a logit_cap of 0 to {}, got {} and {}",
                       kMaxScale, attention_scale, logit_cap));
  if (!(norm_eps > 0)) refuse(fmt::format("norm_eps is {}, expected more than 0", norm_eps));
  if (!(dropout >= 0 && dropout < 1))
    refuse(fmt::format("expected a dropout of 0 or more and below 1, got {}", dropout));
}

Params Gpt::init(Key key) const {
  check();
  Params params;
  params.merge(kTokens, tokens_of(*this).init(key.fold_in(0)));
  if (positions == GptPositions::kLearned)
    params.merge(kPositionTable, positions_of(*this).init(key.fold_in(1)));
  for (std::int64_t i = 0; i < layers; ++i)
    params.merge(block_name(i),
                 Block{*this}.init(key.fold_in(2).fold_in(static_cast<std::uint64_t>(i))));
  params.merge("norm", Norm{*this}.init(key));
  if (!tied)
    params.merge(kHead, Linear{width, vocabulary, head_bias, normal(kStd)}.init(key.fold_in(3)));
  return params;
}

Value Gpt::operator()(const Args& params, Value ids, std::optional<Value> key) const {
  check();
  if (ids.rank() < 1 || ids.shape().back() > context || ids.shape().back() < 1)
    throw Error(ErrorCode::kShape,
                fmt::format("gpt: expected tokens [..., length] with a length of 1 to {1}, got {0}",
                            to_string(ids.type()), context));
  const std::int64_t length = ids.shape().back();
  Value x = embedded(*this, params, ids);
  Setting setting;
  if (positions == GptPositions::kLearned) {
    const Builder::Scope scope(x.builder(), kPositionTable);
    const Value table = slice(params.at(Params::join(kPositionTable, "weight")), 0, 0, length);
    x = x + broadcast(table, x.shape());
  } else {
    setting.rotations.emplace(*this, iota(ids.builder(), length));
  }
  return logits_of(*this, params, through_blocks(*this, params, x, setting, key));
}

std::vector<Input> Gpt::caches(const Chunk& chunk) const {
  const std::int64_t capacity = chunk.capacity == 0 ? context : chunk.capacity;
  std::vector<Input> all;
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string name = block_name(i) + ".self_attn.";
    all.push_back({name + "keys", {Dtype::kF32, {chunk.sequences, key_heads(), head(), capacity}}});
    all.push_back(
        {name + "values", {Dtype::kF32, {chunk.sequences, key_heads(), capacity, head()}}});
  }
  return all;
}

Function Gpt::cached_function(const Chunk& chunk) const {
  check();
  if (chunk.sequences < 1 || chunk.length < 1 || chunk.capacity < 0)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("gpt: expected chunks of at least 1 token and 1 sequence and a "
                            "capacity of at least 0, got {}, {} and {}",
                            chunk.length, chunk.sequences, chunk.capacity));
  const Shape ids{chunk.sequences, chunk.length}, each{chunk.sequences};
  const std::vector<Input> params = parameters(), caches = this->caches(chunk);
  std::vector<Input> inputs = params;
  inputs.push_back({"tokens", {Dtype::kI32, ids}});
  inputs.push_back({"positions", {Dtype::kI32, each}});
  if (chunk.last) inputs.push_back({"lengths", {Dtype::kI32, each}});
  inputs.insert(inputs.end(), caches.begin(), caches.end());
  std::vector<std::string> names{"logits"};
  for (const Input& cache : caches) names.push_back(cache.name);

  const auto code = [&](std::span<const Value> in) {
    Args args;
    for (std::size_t i = 0; i < params.size(); ++i) args.set(params[i].name, in[i]);
    const Value tokens = in[params.size()], first = in[params.size() + 1];
    Setting setting;
    setting.positions = first;
    for (std::size_t i = in.size() - caches.size(); i < in.size(); i += 2)
      setting.caches.push_back({in[i], in[i + 1]});
    const Value places =
        expand_axis(first, ids, 1) + broadcast(iota(tokens.builder(), chunk.length), ids);
    Value x = embedded(*this, args, tokens);
    if (positions == GptPositions::kLearned) {
      const Builder::Scope scope(x.builder(), kPositionTable);
      // A chunk may end beyond the context, where nothing is read.
      x = x + gather(args.at(Params::join(kPositionTable, "weight")), places);
    } else {
      const Shape of_heads{chunk.sequences, 1, chunk.length, rotated() / 2};
      setting.rotations.emplace(*this, reshape(places, {ids.elements()}), of_heads);
    }
    x = through_blocks(*this, args, x, setting, {});
    if (chunk.last) x = gather(x, in[params.size() + 2] - 1, 1);
    std::vector<Value> out{logits_of(*this, args, x)};
    for (const KeysAndValues& cache : setting.caches) {
      out.push_back(cache.keys);
      out.push_back(cache.values);
    }
    return out;
  };
  return trace("gpt", inputs, code, names);
}

std::vector<Input> Gpt::parameters() const {
  check();
  std::vector<Input> all;
  const auto add = [&](const std::string& name, const Shape& shape) {
    all.push_back({name, {Dtype::kF32, shape}});
  };
  const auto add_linear = [&](const std::string& name, const Linear& layer) {
    add(name + ".weight", {layer.out, layer.in});
    if (layer.bias) add(name + ".bias", {layer.out});
  };
  const auto add_norm = [&](const std::string& name) {
    add(name + ".weight", {width});
    if (norm == GptNorm::kLayer) add(name + ".bias", {width});
  };
  add("embed_tokens.weight", {vocabulary, width});
  if (positions == GptPositions::kLearned) add("embed_positions.weight", {context, width});
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string block = block_name(i);
    const Attention attention{*this};
    const GptMlp mlp{*this};
    if (pre_norm) add_norm(block + ".input_layernorm");
    add_linear(block + ".self_attn.q_proj", attention.query());
    add_linear(block + ".self_attn.k_proj", attention.key_or_value());
    add_linear(block + ".self_attn.v_proj", attention.key_or_value());
    add_linear(block + ".self_attn.o_proj", attention.output());
    if (head_norm != GptHeadNorm::kNone) {
      add(block + ".self_attn.q_norm.weight", {attention.head_norm(heads).features});
      add(block + ".self_attn.k_norm.weight", {attention.head_norm(key_heads()).features});
    }
    if (post_norm) add_norm(block + ".attention_output_layernorm");
    if (pre_norm && !shared_norm) add_norm(block + ".post_attention_layernorm");
    if (mlp.gated()) add_linear(block + ".mlp.gate_proj", mlp.up());
    add_linear(block + ".mlp.up_proj", mlp.up());
    add_linear(block + ".mlp.down_proj", mlp.down());
    if (post_norm) add_norm(block + ".mlp_output_layernorm");
  }
  add_norm("norm");
  if (!tied) add("lm_head.weight", {vocabulary, width});
  if (head_bias) add("lm_head.bias", {vocabulary});
  return all;
}

Function Gpt::function(std::int64_t length) const {
  std::vector<Input> inputs = parameters();
  inputs.push_back({"tokens", {Dtype::kI32, {length == 0 ? context : length}}});
  return trace("gpt", inputs,
               [&](std::span<const Value> in) {
                 Args args;
                 for (std::size_t i = 0; i + 1 < in.size(); ++i) args.set(inputs[i].name, in[i]);
                 return std::vector<Value>{(*this)(args, in.back())};
               },
               {"logits"});
}

std::string Gpt::config() const {
  Json json{{"model", "gpt"},
            {"vocabulary", vocabulary},
            {"context", context},
            {"layers", layers},
            {"width", width},
            {"heads", heads},
            {"kv_heads", key_heads()},
            {"hidden", hidden_width()},
            {"norm", name(norm)},
            {"norm_eps", norm_eps},
            {"feed_forward", name(feed_forward)},
            {"positions", name(positions)},
            {"rotary_base", rotary_base},
            {"bias", bias},
            {"tied", tied},
            {"dropout", dropout}};
  if (rotary_scaling) json["rotary_scaling"] = json_of(*rotary_scaling);
  // What most nets do not have is written where it differs.
  const Gpt usual;
  for (const auto& [key, member] : kFlags)
    if (this->*member != usual.*member) json[key] = this->*member;
  for (const auto& [key, member] : kNumbers)
    if (this->*member != usual.*member) json[key] = this->*member;
  for (const auto& [key, member] : kCounts)
    if (this->*member != usual.*member) json[key] = this->*member;
  if (head_norm != usual.head_norm) json["head_norm"] = name(head_norm);
  if (!rotary_divisors.empty()) json["rotary_divisors"] = rotary_divisors;
  for (const GptRotation rotation : rotations) json["rotations"].push_back(name(rotation));
  return json.dump();
}

Gpt Gpt::from_config(std::string_view text) {
  return detail::read_config("gpt", text, [](const JsonView& config) {
    Gpt net{.vocabulary = config.at("vocabulary").as_integer(),
            .context = config.at("context").as_integer(),
            .layers = config.at("layers").as_integer(),
            .width = config.at("width").as_integer(),
            .heads = config.at("heads").as_integer(),
            .kv_heads = config.at("kv_heads").as_integer(),
            .hidden = config.at("hidden").as_integer(),
            .norm = from_name<GptNorm>(config.at("norm").as_string()),
            .norm_eps = config.at("norm_eps").as_number(),
            .feed_forward = from_name<GptFeedForward>(config.at("feed_forward").as_string()),
            .positions = from_name<GptPositions>(config.at("positions").as_string()),
            .rotary_base = config.at("rotary_base").as_number(),
            .rotary_scaling = rotary_scaling_of(config),
            .bias = config.at("bias").as_bool(),
            .tied = config.at("tied").as_bool(),
            .dropout = config.at("dropout").as_number()};
    for (const auto& [key, member] : kFlags)
      if (const auto found = config.find(key)) net.*member = found->as_bool();
    for (const auto& [key, member] : kNumbers)
      if (const auto found = config.find(key)) net.*member = found->as_number();
    for (const auto& [key, member] : kCounts)
      if (const auto found = config.find(key)) net.*member = found->as_integer();
    if (const auto found = config.find("head_norm"))
      net.head_norm = from_name<GptHeadNorm>(found->as_string());
    if (const auto found = config.find("rotary_divisors"))
      for (const JsonView& one : found->elements()) net.rotary_divisors.push_back(one.as_number());
    if (const auto found = config.find("rotations"))
      for (const JsonView& one : found->elements())
        net.rotations.push_back(from_name<GptRotation>(one.as_string()));
    net.check();
    return net;
  });
}

}  // namespace limpid::nn
