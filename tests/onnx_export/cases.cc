#include "tests/onnx_export/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "limpid/compile/executable.h"
#include "limpid/function/builder.h"
#include "limpid/inspect/op_example.h"
#include "limpid/nn/attention.h"
#include "limpid/nn/conv.h"
#include "limpid/nn/embedding.h"
#include "limpid/nn/feed_forward.h"
#include "limpid/nn/mlp.h"
#include "limpid/nn/norm.h"
#include "limpid/nn/picture.h"
#include "limpid/nn/pool.h"
#include "limpid/nn/recurrent.h"
#include "limpid/nn/recurrent_net.h"
#include "limpid/nn/sequential.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/quantize.h"
#include "limpid/transforms/vmap.h"

namespace limpid::testing {
namespace {

struct Range {
  double low = -2, high = 2;
  std::int64_t bound = 2;
};

Case make_case(std::string name, Function function, Params params, bool any_batch,
               const Range& range = {}) {
  Case c{std::move(name), std::move(function), std::move(params), {}, {}, {}};
  c.model = c.function;
  if (any_batch) {
    c.options.batch = "N";
    std::vector<std::optional<std::int64_t>> axes;
    for (const Input& in : c.function.inputs())
      axes.push_back(c.params.find(in.name) ? std::nullopt : std::optional<std::int64_t>(0));
    c.model = vmap(c.function, axes, kBatch);
  }
  std::uint64_t i = 0;
  for (const Input& in : c.model.inputs()) {
    const Tensor* param = c.params.find(in.name);
    c.inputs.push_back(
        param ? *param
              : random_tensor(in.type, Key(1).fold_in(i), range.low, range.high, range.bound));
    ++i;
  }
  return c;
}

// Every input but the data drawn from [-0.5, 0.5), variances from [0.5, 1.5).
Params random_params(const Function& f, const std::vector<std::string>& data) {
  Params params;
  std::uint64_t i = 0;
  for (const Input& in : f.inputs()) {
    if (std::find(data.begin(), data.end(), in.name) != data.end()) continue;
    const double low = in.name.ends_with("running_var") ? 0.5 : -0.5;
    params.set(in.name, random_tensor(in.type, Key(2).fold_in(i++), low, low + 1));
  }
  return params;
}

Case make_model(std::string name, const Function& f, bool any_batch = true,
                const std::vector<std::string>& data = {"x"}, const Range& range = {}) {
  return make_case(std::move(name), f, random_params(f, data), any_batch, range);
}

Function function_of_mlp(const nn::Activation& activation, nn::MlpNorm norm) {
  nn::Mlp net{.sizes = {5, 16, 12, 3}, .activation = activation};
  net.norm = norm;
  return net.function();
}

// Token embedding, learned positions, a block of causal attention and feed-forward, and the tied
// embedding.
Function gpt() {
  constexpr std::int64_t kWords = 11, kLength = 6, kWidth = 16;
  const nn::PreNorm attention{
      nn::LayerNorm{kWidth},
      nn::MultiHeadAttention{.features = kWidth, .heads = 4, .causal = true}};
  const nn::PreNorm feed_forward{
      nn::LayerNorm{kWidth},
      nn::FeedForward{.features = kWidth, .hidden = 32, .activation = gelu_tanh}};
  Params params{{"wte", Tensor::zeros({Dtype::kF32, {kWords, kWidth}})},
                {"wpe", Tensor::zeros({Dtype::kF32, {kLength, kWidth}})}};
  params.merge("attention", attention.init(Key(0)));
  params.merge("feed_forward", feed_forward.init(Key(0)));
  std::vector<Input> inputs = nn::inputs_of(params);
  inputs.push_back({"ids", {Dtype::kI32, {kLength}}});
  return trace("gpt", inputs,
               [&](std::span<const Value> in) {
                 const Args args = nn::args_of(params, in.first(in.size() - 1));
                 Value x = embedding(in.back(), args.at("wte")) + args.at("wpe");
                 x = attention(args.within("attention"), x);
                 x = feed_forward(args.within("feed_forward"), x);
                 return std::vector<Value>{matmul(x, args.at("wte"), false, true)};
               },
               {"logits"});
}

// The loss of a network on a batch, and its gradients by all parameters.
template <class Net>
Function training(const Net& net, const Type& x, const Type& y,
                  Value (*loss)(Value output, Value target)) {
  const Params params = net.init(Key(0));
  std::vector<Input> inputs = nn::inputs_of(params);
  inputs.push_back({"x", x});
  inputs.push_back({"y", y});
  const Function f =
      trace("loss", inputs,
            [&](std::span<const Value> in) {
              const Args args = nn::args_of(params, in.first(params.size()));
              return std::vector<Value>{loss(net(args, in[params.size()]), in.back())};
            },
            {"loss"});
  std::vector<std::size_t> wrt(params.size());
  for (std::size_t i = 0; i < wrt.size(); ++i) wrt[i] = i;
  return value_and_grad(f, wrt);
}

Value class_loss(Value logits, Value labels) { return mean(softmax_cross_entropy(logits, labels)); }
Value number_loss(Value output, Value target) { return mse_loss(output, target); }

void add_training(std::vector<Case>& cases) {
  const Type x{Dtype::kF32, {8, 5}}, labels{Dtype::kI32, {8}}, rows{Dtype::kF32, {8, 3}};
  const Range range{-2, 2, 3};
  for (const nn::MlpNorm norm : {nn::MlpNorm::kNone, nn::MlpNorm::kLayer, nn::MlpNorm::kRms}) {
    nn::Mlp net{.sizes = {5, 16, 12, 3}, .activation = nn::activation_from_name("gelu")};
    net.norm = norm;
    cases.push_back(make_model(fmt::format("training with {} norm", name(norm)),
                               training(net, x, labels, class_loss), false, {"x", "y"}, range));
  }
  const nn::Mlp net{.sizes = {5, 16, 3}};
  const Function squared = training(net, x, rows, number_loss);
  cases.push_back(make_model("training by squares", squared, false, {"x", "y"}));
  cases.push_back(make_case("training, parameters as inputs", squared, {}, false));
  const auto attention = nn::sequential(
      nn::Residual{nn::MultiHeadAttention{.features = 8, .heads = 2, .causal = true}},
      nn::LayerNorm{8}, nn::Linear{8, 3});
  cases.push_back(
      make_model("training of attention",
                 training(attention, {Dtype::kF32, {2, 4, 8}}, {Dtype::kI32, {2, 4}}, class_loss),
                 false, {"x", "y"}, range));
}

}  // namespace

std::vector<Tensor> Case::expected() const { return compile(model)(inputs); }

bool is_refused(const Op& op) {
  for (const Op* refused :
       {&op::random_bits, &op::fold_in, &op::shift_right, &op::uniform, &op::normal, &op::dropout,
        &op::scatter_maximum, &op::scatter_minimum, &op::update_rows, &op::cached_attention,
        &op::conv_weight_gradient, &op::patches, &op::col2im, &op::cholesky, &op::triangular_solve,
        &op::lu, &op::qr, &op::svd})
    if (&op == refused) return true;
  return false;
}

std::vector<Case> op_cases() {
  std::vector<Case> cases;
  for (const Op* op : all_ops()) {
    if (is_refused(*op)) continue;
    int number = 0;
    for (const Example& e : op->examples()) {
      const Range range{e.low, e.high, e.bound};
      const Function f = function_of(*op, e);
      const std::string name = fmt::format("{}, example {}", op->name, number++);
      cases.push_back(make_case(name, f, {}, false, range));
      // A weight for each example makes groups, and ONNX has their number as an attribute.
      const bool fixed = op == &op::conv || op == &op::conv_transpose;
      if (!e.inputs.empty() && !fixed)
        cases.push_back(make_case(name + " in a batch of any size", f, {}, true, range));
    }
  }
  return cases;
}

std::vector<Case> model_cases() {
  std::vector<Case> cases;
  for (const std::string& name : nn::activation_names())
    cases.push_back(make_model(
        "mlp with " + name, function_of_mlp(nn::activation_from_name(name), nn::MlpNorm::kNone)));
  for (const nn::MlpNorm norm : {nn::MlpNorm::kLayer, nn::MlpNorm::kRms, nn::MlpNorm::kBatch})
    cases.push_back(make_model(fmt::format("mlp with {} norm", name(norm)),
                               function_of_mlp(nn::activation_from_name("relu"), norm)));

  const auto add = [&](const std::string& name, const auto& layer, const Shape& x,
                       bool any_batch = true) {
    cases.push_back(make_model(name, nn::function_of(layer, {Dtype::kF32, x}), any_batch));
  };
  add("group norm", nn::GroupNorm{2, 6}, {4, 6, 5}, false);
  add("convolutions",
      nn::sequential(
          nn::Conv2d{.in = 3, .out = 4, .kernel = {3, 2}, .stride = {2, 1}}, relu,
          nn::Conv2d{.in = 4,
                     .out = 4,
                     .kernel = {3},
                     .padding = {.kind = nn::Padding::Kind::kSame},
                     .groups = 4},
          nn::ConvTranspose2d{
              .in = 4, .out = 2, .kernel = {2}, .stride = {3}, .output_padding = {2, 0}}),
      {2, 3, 7, 5});
  add("max pooling", nn::MaxPool2d{.kernel_size = {3}, .stride = {2}, .padding = {1}}, {2, 3, 9, 7},
      false);
  add("average pooling of partial windows",
      nn::AvgPool2d{.kernel_size = {3}, .stride = {2}, .ceil_mode = true}, {2, 3, 8, 8}, false);
  add("adaptive pooling", nn::AdaptiveAvgPool2d{{3, 4}}, {2, 3, 8, 7}, false);
  add("upsampling", nn::Upsample{.scale_factor = 1.5, .mode = "bicubic"}, {2, 3, 5, 6}, false);
  add("pixel shuffle", nn::PixelShuffle{2}, {2, 8, 3, 4}, false);
  add("local response norm", nn::LocalResponseNorm{3}, {2, 6, 3, 4}, false);
  add("residual net",
      nn::sequential(nn::Linear{5, 8}, nn::Residual{nn::sequential(nn::Linear{8, 8}, gelu)},
                     nn::PreNorm{nn::LayerNorm{8}, nn::FeedForward{8, 16}}, nn::Linear{8, 3}),
      {5});
  add("gated feed-forward", nn::GatedFeedForward{8, 20}, {4, 8});
  add("attention", nn::MultiHeadAttention{.features = 16, .heads = 4}, {6, 16});
  add("causal attention of grouped queries",
      nn::MultiHeadAttention{.features = 16, .heads = 4, .kv_heads = 2, .causal = true}, {6, 16});
  cases.push_back(make_model("gpt", gpt(), true, {"ids"}, {-2, 2, 11}));
  add("rnn", nn::RNN{.input = 3, .hidden = 4}, {5, 3});
  add("lstm of two layers and directions",
      nn::LSTM{.input = 3, .hidden = 4, .layers = 2, .bidirectional = true}, {5, 3});
  add("gru without bias", nn::GRU{.input = 3, .hidden = 4, .bias = false}, {5, 3});
  add("lstm of a batch", nn::LSTM{.input = 3, .hidden = 4}, {2, 5, 3}, false);
  const nn::RecurrentLm texts{.vocabulary = 11, .context = 6, .layers = 2, .width = 8};
  cases.push_back(
      make_model("recurrent language model", texts.function(), true, {"tokens"}, {-2, 2, 11}));
  cases.push_back(make_model("recurrent language model with its state",
                             texts.stateful_function(2, 3), false, {"tokens", "h", "c"},
                             {-2, 2, 11}));
  cases.push_back(make_model(
      "recurrent network of numbers",
      nn::RecurrentNet{
          .kind = nn::RecurrentKind::kGru, .steps = 5, .features = 3, .outputs = 2, .width = 4}
          .function()));

  const Function net = function_of_mlp(nn::activation_from_name("relu"), nn::MlpNorm::kNone);
  for (const Dtype to : {Dtype::kBf16, Dtype::kI8}) {
    Quantized q = quantize(net, random_params(net, {"x"}), {.to = to});
    cases.push_back(make_case(fmt::format("mlp with weights of {}", name(to)),
                              std::move(q.function), std::move(q.params), true));
  }
  add_training(cases);
  return cases;
}

}  // namespace limpid::testing
