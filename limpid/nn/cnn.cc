#include "limpid/nn/cnn.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/nn/conv.h"
#include "limpid/nn/detail/config.h"
#include "limpid/nn/linear.h"
#include "limpid/nn/norm.h"
#include "limpid/ops/ops.h"

namespace limpid::nn {
namespace {

// A convolution, a norm and an activation.
struct CnnUnit {
  std::int64_t out = 0;
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  bool depthwise = false;
  bool active = true;
  std::int64_t padding = kernel / 2;
};

struct CnnBlock {
  std::vector<CnnUnit> units;
  bool residual = false;  // x + units(x), x by a 1 x 1 convolution where its type is another
  bool active = false;    // an activation after the sum
  std::int64_t pool = 1;  // max pooling of the result, of this side
};

// How numbers become a vector after the last block.
enum class CnnEnd : std::uint8_t { kFlat, kMean, kLargest };

struct CnnLayout {
  std::vector<CnnBlock> blocks;
  CnnEnd end = CnnEnd::kMean;
  std::vector<std::int64_t> hidden = {};  // linear layers before the last
};

std::int64_t filters_of(const Cnn& net) {
  return net.filters > 0 ? net.filters : Cnn::usual_filters(net.preset);
}

bool is_small(const Cnn& net) { return net.picture[1] <= 64 && net.picture[2] <= 64; }

CnnLayout lenet_layout(std::int64_t f) {
  const std::int64_t second = (8 * f + 2) / 3;
  return {{{.units = {{.out = f, .kernel = 5}}, .pool = 2},
           {.units = {{.out = second, .kernel = 5, .padding = 0}}, .pool = 2}},
          CnnEnd::kFlat,
          {20 * f, 14 * f}};
}

CnnLayout small_layout(std::int64_t f) {
  return {{{.units = {{.out = f}}, .pool = 2},
           {.units = {{.out = 2 * f}, {.out = 2 * f}}, .pool = 2},
           {.units = {{.out = 4 * f}, {.out = 4 * f}}}},
          CnnEnd::kLargest};
}

CnnLayout resnet9_layout(std::int64_t f) {
  const auto twice = [](std::int64_t n) {
    return CnnBlock{.units = {{.out = n}, {.out = n}}, .residual = true};
  };
  return {{{.units = {{.out = f}}},
           {.units = {{.out = 2 * f}}, .pool = 2},
           twice(2 * f),
           {.units = {{.out = 4 * f}}, .pool = 2},
           {.units = {{.out = 8 * f}}, .pool = 2},
           twice(8 * f)},
          CnnEnd::kLargest};
}

CnnLayout resnet18_layout(const Cnn& net) {
  const std::int64_t filters = filters_of(net);
  CnnLayout layout;
  CnnBlock first{.units = {{.out = filters}}};
  if (!is_small(net)) first = {.units = {{.out = filters, .kernel = 7, .stride = 2}}, .pool = 2};
  layout.blocks.push_back(first);
  for (int stage = 0; stage < 4; ++stage)
    for (int i = 0; i < 2; ++i) {
      const std::int64_t n = filters << stage;
      layout.blocks.push_back({.units = {{.out = n, .stride = stage > 0 && i == 0 ? 2 : 1},
                                         {.out = n, .active = false}},
                               .residual = true,
                               .active = true});
    }
  return layout;
}

CnnLayout mobilenet_layout(const Cnn& net) {
  struct Row {
    std::int64_t expand, thirty_seconds, repeats, stride;
  };
  const std::int64_t early = is_small(net) ? 1 : 2;
  const Row rows[] = {{1, 16, 1, 1}, {6, 24, 2, early}, {6, 32, 3, 2}, {6, 64, 4, 2},
                      {6, 96, 3, 1}, {6, 160, 3, 2},    {6, 320, 1, 1}};
  const auto channels = [&](std::int64_t n) {
    return std::max<std::int64_t>(1, n * filters_of(net) / 32);
  };
  CnnLayout layout;
  layout.blocks.push_back({.units = {{.out = channels(32), .stride = early}}});
  std::int64_t in = channels(32);
  for (const Row& row : rows)
    for (std::int64_t i = 0; i < row.repeats; ++i) {
      const std::int64_t out = channels(row.thirty_seconds);
      const std::int64_t stride = i == 0 ? row.stride : 1;
      CnnBlock block{.units = {}, .residual = stride == 1 && in == out};
      if (row.expand > 1) block.units.push_back({.out = row.expand * in, .kernel = 1});
      block.units.push_back({.out = row.expand * in, .stride = stride, .depthwise = true});
      block.units.push_back({.out = out, .kernel = 1, .active = false});
      layout.blocks.push_back(block);
      in = out;
    }
  layout.blocks.push_back({.units = {{.out = channels(1280), .kernel = 1}}});
  return layout;
}

CnnLayout layout_of(const Cnn& net) {
  switch (net.preset) {
    case CnnPreset::kLenet:
      return lenet_layout(filters_of(net));
    case CnnPreset::kSmall:
      return small_layout(filters_of(net));
    case CnnPreset::kResnet9:
      return resnet9_layout(filters_of(net));
    case CnnPreset::kResnet18:
      return resnet18_layout(net);
    case CnnPreset::kMobilenet:
      return mobilenet_layout(net);
  }
  return {};
}

std::string block_name(std::size_t block) { return fmt::format("blocks.{}", block); }
std::string head_name(std::size_t i) { return fmt::format("head.{}", i); }

// Channels, height and width at a place of the network.
struct CnnSize {
  std::int64_t channels, height, width;
};

CnnSize size_after(const CnnUnit& unit, CnnSize size) {
  const auto side = [&](std::int64_t n) {
    return (n + 2 * unit.padding - unit.kernel) / unit.stride + 1;
  };
  return {unit.out, side(size.height), side(size.width)};
}

// The layers of a unit, and of the shortcut of a residual block.
struct CnnLayers {
  Conv2d conv;
  BatchNorm norm;
};

CnnLayers layers_of(const Cnn& net, const CnnUnit& unit, std::int64_t in) {
  return {{.in = in,
           .out = unit.out,
           .kernel = {unit.kernel},
           .stride = {unit.stride},
           .padding = {.zeros = {unit.padding}},
           .groups = unit.depthwise ? in : 1,
           .bias = net.norm == CnnNorm::kNone,
           .weight_init = init_from_name(net.init_name, net.activation.gain)},
          {unit.out}};
}

// Calls unit(name, unit, channels in) for each convolution, in the order of their application.
// Returns the size after the last. Throws kInvalidArgument if the picture is too small.
template <class Use>
CnnSize for_each_unit(const Cnn& net, const CnnLayout& layout, const Use& use) {
  CnnSize size{net.picture[0], net.picture[1], net.picture[2]};
  for (std::size_t b = 0; b < layout.blocks.size(); ++b) {
    const CnnBlock& block = layout.blocks[b];
    const CnnSize before = size;
    std::int64_t stride = 1;
    for (std::size_t u = 0; u < block.units.size(); ++u) {
      use(fmt::format("{}.{}", block_name(b), u), block.units[u], size.channels);
      size = size_after(block.units[u], size);
      stride *= block.units[u].stride;
    }
    if (block.residual && (stride > 1 || size.channels != before.channels))
      use(block_name(b) + ".shortcut",
          CnnUnit{.out = size.channels, .kernel = 1, .stride = stride, .active = false},
          before.channels);
    size.height /= block.pool;
    size.width /= block.pool;
    if (size.height < 1 || size.width < 1)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("cnn: a picture of {} x {} is too small for the preset {}",
                              net.picture[1], net.picture[2], name(net.preset)));
  }
  return size;
}

// The linear layers after the blocks.
std::vector<Linear> cnn_head(const Cnn& net, const CnnLayout& layout, const CnnSize& end) {
  std::int64_t in =
      layout.end == CnnEnd::kFlat ? end.channels * end.height * end.width : end.channels;
  std::vector<Linear> layers;
  const auto add = [&](std::int64_t out) {
    layers.push_back({in, out, true, init_from_name(net.init_name, net.activation.gain)});
    in = out;
  };
  for (const std::int64_t hidden : layout.hidden) add(hidden);
  add(net.outputs);
  return layers;
}

void check_cnn(const Cnn& net) {
  const auto refuse = [](const std::string& why) {
    throw Error(ErrorCode::kInvalidArgument, "cnn: " + why);
  };
  if (net.picture.rank() != 3)
    refuse(fmt::format("expected a picture of (channels, height, width), got {}",
                       to_string(net.picture)));
  for (const std::int64_t n :
       {net.picture[0], net.picture[1], net.picture[2], net.outputs, filters_of(net)})
    if (n < 1 || n > 65535) refuse(fmt::format("expected numbers of 1 to 65535, got {}", n));
  if (!(net.dropout >= 0 && net.dropout < 1))
    refuse(fmt::format("expected a dropout of 0 or more and below 1, got {}", net.dropout));
}

// The network on x, with dropout if there is a key. With a state, batch norm uses the statistics of
// the batch, and the new running ones are set in it.
class CnnForward {
 public:
  CnnForward(const Cnn& net, const Args& params, Args* state, std::optional<Value> key)
      : net_(net), params_(params), state_(state), key_(std::move(key)) {}

  Value operator()(Value x) const {
    check_cnn(net_);
    const CnnLayout layout = layout_of(net_);
    const CnnSize end = for_each_unit(net_, layout, [](const auto&...) {});
    if (x.rank() != 4 || x.shape().erase(0) != net_.picture)
      throw Error(ErrorCode::kShape,
                  fmt::format("cnn: input is {}, expected (N, {}, {}, {})", to_string(x.type()),
                              net_.picture[0], net_.picture[1], net_.picture[2]));
    for (std::size_t b = 0; b < layout.blocks.size(); ++b)
      x = block(layout.blocks[b], block_name(b), x);
    return head(layout, end, x);
  }

 private:
  // `name` is that of the unit's parameters, `part` its end, in the scope of its block.
  Value unit(const std::string& name, const std::string& part, const CnnUnit& unit,
             const Value& x) const {
    const Builder::Scope scope(x.builder(), part);
    const CnnLayers layers = layers_of(net_, unit, x.shape()[1]);
    const std::string norm_name = name + ".norm";
    Value y;
    {
      const Builder::Scope in_conv(x.builder(), "conv");
      y = layers.conv(params_.within(name + ".conv"), x);
    }
    if (net_.norm == CnnNorm::kBatch) {
      const Builder::Scope in_norm(x.builder(), "norm");
      if (state_) {
        const BatchNorm::Result result =
            layers.norm(params_.within(norm_name), state_->within(norm_name), y);
        state_->merge(norm_name, result.state);
        y = result.y;
      } else {
        y = layers.norm.inference(params_.within(norm_name), params_.within(norm_name), y);
      }
    }
    return unit.active ? net_.activation.apply(y) : y;
  }

  Value block(const CnnBlock& block, const std::string& name, const Value& x) const {
    const Builder::Scope scope(x.builder(), name);
    Value y = x;
    std::int64_t stride = 1;
    for (std::size_t u = 0; u < block.units.size(); ++u) {
      y = unit(fmt::format("{}.{}", name, u), std::to_string(u), block.units[u], y);
      stride *= block.units[u].stride;
    }
    if (block.residual) {
      Value shortcut = x;
      if (stride > 1 || y.shape()[1] != x.shape()[1])
        shortcut = unit(name + ".shortcut", "shortcut",
                        {.out = y.shape()[1], .kernel = 1, .stride = stride, .active = false}, x);
      y = shortcut + y;
    }
    if (block.active) y = net_.activation.apply(y);
    return block.pool == 1 ? y : max_pool(y, {.kernel = {block.pool, block.pool}});
  }

  Value head(const CnnLayout& layout, const CnnSize& end, Value x) const {
    const std::int64_t rows = x.shape()[0];
    if (layout.end == CnnEnd::kFlat)
      x = reshape(x, {rows, end.channels * end.height * end.width});
    else if (layout.end == CnnEnd::kMean)
      x = mean(reshape(x, {rows, end.channels, end.height * end.width}), -1);
    else
      x = max(reshape(x, {rows, end.channels, end.height * end.width}), -1);
    const std::vector<Linear> layers = cnn_head(net_, layout, end);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (i + 1 == layers.size() && key_ && net_.dropout > 0)
        x = limpid::dropout(x, *key_, net_.dropout);
      const Builder::Scope scope(x.builder(), head_name(i));
      x = layers[i](params_.within(head_name(i)), x);
      if (i + 1 < layers.size()) x = net_.activation.apply(x);
    }
    return x;
  }

  const Cnn& net_;
  const Args& params_;
  Args* state_;
  std::optional<Value> key_;
};

Params cnn_init(const Cnn& net, Key key) {
  check_cnn(net);
  const CnnLayout layout = layout_of(net);
  Params params;
  std::uint64_t layer = 0;
  const CnnSize end = for_each_unit(
      net, layout, [&](const std::string& name, const CnnUnit& unit, std::int64_t in) {
        const CnnLayers layers = layers_of(net, unit, in);
        params.merge(name + ".conv", layers.conv.init(key.fold_in(layer++)));
        if (net.norm == CnnNorm::kBatch) params.merge(name + ".norm", layers.norm.init(key));
      });
  std::size_t i = 0;
  for (const Linear& linear : cnn_head(net, layout, end))
    params.merge(head_name(i++), linear.init(key.fold_in(layer++)));
  return params;
}

Cnn cnn_of(const JsonView& config) {
  std::vector<std::int64_t> sizes;
  for (const JsonView& size : config.at("picture").elements()) sizes.push_back(size.as_integer());
  Cnn net{.picture = Shape(sizes),
          .outputs = config.at("outputs").as_integer(),
          .preset = from_name<CnnPreset>(config.at("preset").as_string()),
          .filters = config.at("filters").as_integer(),
          .norm = from_name<CnnNorm>(config.at("norm").as_string()),
          .activation = activation_from_name(config.at("activation").as_string()),
          .dropout = config.at("dropout").as_number(),
          .init_name = config.at("init").as_string()};
  check_cnn(net);
  return net;
}

}  // namespace

std::int64_t Cnn::usual_filters(CnnPreset preset) {
  switch (preset) {
    case CnnPreset::kLenet:
      return 6;
    case CnnPreset::kSmall:
    case CnnPreset::kMobilenet:
      return 32;
    case CnnPreset::kResnet9:
    case CnnPreset::kResnet18:
      return 64;
  }
  return 0;
}

Params Cnn::init(Key key) const { return cnn_init(*this, key); }

Params Cnn::init_state() const {
  check_cnn(*this);
  Params state;
  if (norm != CnnNorm::kBatch) return state;
  for_each_unit(*this, layout_of(*this),
                [&](const std::string& name, const CnnUnit& unit, std::int64_t) {
                  state.merge(name + ".norm", BatchNorm{unit.out}.init_state());
                });
  return state;
}

Cnn::Training Cnn::training(const Args& params, const Args& state, Value x, Value key) const {
  Args next = state;  // for the order of its names
  const Value logits = CnnForward(*this, params, &next, std::move(key))(std::move(x));
  return {logits, next};
}

Value Cnn::operator()(const Args& params, Value x, std::optional<Value> key) const {
  return CnnForward(*this, params, nullptr, std::move(key))(std::move(x));
}

Function Cnn::function() const {
  // Types only: zeros are quick to make.
  Cnn shape = *this;
  shape.init_name = "zeros";
  std::vector<Input> inputs;
  for (const Params& params : {cnn_init(shape, Key(0)), init_state()})
    for (const auto& [name, value] : params) inputs.push_back({name, value.type()});
  inputs.push_back({"x", {Dtype::kF32, picture}});
  return trace("cnn", inputs,
               [&](std::span<const Value> in) {
                 Args args;
                 for (std::size_t i = 0; i + 1 < in.size(); ++i) args.set(inputs[i].name, in[i]);
                 const Value rows = reshape(in.back(), picture.insert(0, 1));
                 return std::vector<Value>{reshape((*this)(args, rows), {outputs})};
               },
               {"logits"});
}

std::string Cnn::config() const {
  return Json{{"model", "cnn"},
              {"picture", Json::array({picture[0], picture[1], picture[2]})},
              {"outputs", outputs},
              {"preset", name(preset)},
              {"filters", filters_of(*this)},
              {"norm", name(norm)},
              {"activation", activation.name},
              {"dropout", dropout},
              {"init", init_name}}
      .dump();
}

Cnn Cnn::from_config(std::string_view text) { return detail::read_config("cnn", text, cnn_of); }

}  // namespace limpid::nn
