#include "tests/emit/cases.h"

#include <fmt/format.h>

#include <limits>
#include <memory>

#include "limpid/core/half.h"
#include "limpid/function/builder.h"
#include "limpid/inspect/op_example.h"
#include "limpid/nn/attention.h"
#include "limpid/nn/mlp.h"
#include "limpid/nn/norm.h"
#include "limpid/nn/recurrent_net.h"
#include "limpid/nn/sequential.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/quantize.h"
#include "limpid/transforms/scan.h"
#include "tests/laws/random_function.h"
#include "tests/laws/random_values.h"

namespace limpid::emit_test {
namespace {

// Ordinary numbers, then special ones. Arguments are not restricted to an op's domain: NaN is a
// valid result, too.
std::vector<std::vector<Tensor>> two_runs(std::vector<Tensor> inputs) {
  std::vector<Tensor> special = laws::special_inputs(inputs, Key(2));
  return {std::move(inputs), std::move(special)};
}

// A Function that is written call by call.
class Sheet {
 public:
  explicit Sheet(std::string name) : builder_(std::make_unique<Builder>(name)), name_(name) {}

  void add(const Op& op, const Example& e) { calls_.push_back({&op, e}); }

  std::size_t size() const { return calls_.size(); }

  Case finish() {
    std::vector<Value> inputs;
    std::vector<Tensor> values;
    for (std::size_t c = 0; c < calls_.size(); ++c) {
      const std::vector<Tensor> drawn = random_inputs(calls_[c].example, Key(c));
      for (std::size_t i = 0; i < drawn.size(); ++i) {
        inputs.push_back(
            builder_->input(fmt::format("{} {}.{}", calls_[c].op->name, c, i), drawn[i].type()));
        values.push_back(drawn[i]);
      }
    }
    std::vector<Value> outputs;
    std::size_t next = 0;
    for (const Use& use : calls_) {
      const std::span<const Value> in =
          std::span<const Value>(inputs).subspan(next, use.example.inputs.size());
      next += in.size();
      for (const Value& v : builder_->call(*use.op, in, use.example.attributes))
        outputs.push_back(v);
    }
    return {name_, builder_->finish(outputs), {}, two_runs(std::move(values))};
  }

 private:
  struct Use {
    const Op* op;
    Example example;
  };
  std::unique_ptr<Builder> builder_;
  std::string name_;
  std::vector<Use> calls_;
};

Case model_case(std::string name, Function f, Params params, std::uint64_t key = 0) {
  std::vector<Tensor> inputs;
  for (const Input& input : f.inputs())
    if (!params.find(input.name))
      inputs.push_back(random_tensor(input.type, Key(key).fold_in(inputs.size()), -3, 3, 9));
  return {std::move(name), std::move(f), std::move(params), two_runs(std::move(inputs))};
}

// Biases that are not zero.
Params with_noise(const Params& params) {
  Params result;
  std::uint64_t i = 0;
  for (const auto& [name, value] : params) {
    const bool is_bias = value.shape().rank() == 1;
    result.set(name, is_bias ? random_tensor(value.type(), Key(50).fold_in(i++), 0.1, 1) : value);
  }
  return result;
}

Case mlp_case(std::string name, const nn::Mlp& net) {
  Params params = net.init(Key(3));
  params.merge("", net.init_state());
  return model_case(std::move(name), net.function(), with_noise(params));
}

// A reshape has to copy these elements, and the loop after the copy reads them.
Case copied_case() {
  const Function f = trace("copied", {{"v", {Dtype::kF32, {4}}}}, [](std::span<const Value> in) {
    const Value rows = reshape(broadcast(in[0], {2, 3, 4}), {2, 12});
    return std::vector<Value>{sum(rows * rows, -1), rows + 1.0};
  });
  return model_case("copied", f, {});
}

// A part of an argument that a function reads from its middle; a batch whose matrices lie in
// another order than its numbers; a product of which all terms underflow to -0; rows of three
// numbers from a transposed matrix with rows of two; what is read from the middle of a padded
// argument; constants of types that no network has.
Case parts_case() {
  const std::vector<Input> inputs{{"x", {Dtype::kF32, {4, 6}}},
                                  {"a", {Dtype::kF32, {2, 3, 4, 5}}},
                                  {"b", {Dtype::kF32, {3, 2, 5, 7}}}};
  const Function f = trace("parts", inputs, [](std::span<const Value> in) {
    Builder& builder = in[0].builder();
    const double inf = std::numeric_limits<double>::infinity();
    const Value tiny = (abs(in[0]) + 1.0) * 1e-30;
    return std::vector<Value>{
        sum(slice(in[0], 0, 1, 3), 1),
        matmul(transpose(in[1], {1, 0, 2, 3}), in[2]),
        matmul(transpose(in[2], {1, 0, 3, 2}), transpose(in[1], {0, 1, 3, 2})),
        matmul(tiny, transpose(-tiny, {1, 0})),
        reshape(transpose(slice(in[0], 0, 0, 2), {1, 0}), {4, 3}) + 1.0,
        slice(pad(in[0], {0, 1}, {0, 1}, {0, 0}), 1, 2, 8) + 1.0,
        constant(builder, Tensor::from<std::uint8_t>({2}, {255, 0})),
        constant(builder, Tensor::from<F16>({2}, {F16{0xfc00}, F16{1}})),
        constant(builder, Tensor::from<double>({3}, {-inf, inf, -0.0}))};
  });
  return model_case("parts", f, {});
}

// One network for each activation, side by side.
Case activations_case() {
  const nn::Mlp shape = nn::mlp({20, 33, 17, 5}, relu);
  const Params params = with_noise(shape.init(Key(4)));
  std::vector<Input> inputs = nn::inputs_of(params);
  inputs.push_back({"x", {Dtype::kF32, {20}}});
  const std::vector<std::string> names = nn::activation_names();
  const Function f = trace(
      "activations", inputs,
      [&](std::span<const Value> in) {
        const Args args = nn::args_of(params, in.first(params.size()));
        std::vector<Value> outputs;
        for (const std::string& name : names) {
          nn::Mlp net = shape;
          net.activation = nn::activation_from_name(name);
          outputs.push_back(net(args, in.back()));
        }
        return outputs;
      },
      names);
  return model_case("activations", f, params);
}

// A block of a transformer: causal attention and a feed-forward net around residuals.
Case attention_case() {
  const auto block = nn::sequential(
      nn::named("attention",
                nn::PreNorm{nn::LayerNorm{.features = 24},
                            nn::MultiHeadAttention{.features = 24, .heads = 3, .causal = true}}),
      nn::named("mlp", nn::PreNorm{nn::RmsNorm{.features = 24},
                                   nn::sequential(nn::Linear{24, 70}, gelu, nn::Linear{70, 24})}));
  const Params params = with_noise(nn::init_layer(block, Key(5)));
  return model_case("attention", nn::function_of(block, {Dtype::kF32, {7, 24}}), params);
}

Case quantized_case(std::string name, Dtype to) {
  const nn::Mlp net = nn::mlp({30, 300, 40, 3}, tanh);
  Quantized q = quantize(net.function(), with_noise(net.init(Key(6))), {.to = to});
  return model_case(std::move(name), q.function, q.params);
}

// Loss and gradients of a small network with dropout: the parameters and a key are arguments.
Case training_case() {
  const nn::Mlp net{{6, 9, 4}, nn::activation_from_name("silu"), 0.2, "he", nn::MlpNorm::kLayer};
  const Params params = with_noise(net.init(Key(7)));
  std::vector<Input> inputs = nn::inputs_of(params);
  inputs.push_back({"x", {Dtype::kF32, {5, 6}}});
  inputs.push_back({"labels", {Dtype::kI32, {5}}});
  inputs.push_back({"key", {Dtype::kI64, {}}});
  const Function loss = trace("training", inputs, [&](std::span<const Value> in) {
    const Args args = nn::args_of(params, in.first(params.size()));
    const Value logits = net(args, in[params.size()], in[params.size() + 2]);
    return std::vector<Value>{mean(softmax_cross_entropy(logits, in[params.size() + 1]))};
  });
  std::vector<std::size_t> wrt(params.size());
  for (std::size_t i = 0; i < wrt.size(); ++i) wrt[i] = i;
  return model_case("training", value_and_grad(loss, wrt), {});
}

// An f64 network.
Case wide_case() {
  const Function f = trace("wide", {{"x", {Dtype::kF64, {3, 300}}}, {"w", {Dtype::kF64, {9, 300}}}},
                           [](std::span<const Value> in) {
                             const Value y = linear(in[0], in[1], Value());
                             return std::vector<Value>{softmax(y, -1), sum(y, 0), layer_norm(y)};
                           });
  return model_case("wide", f, {{"w", random_tensor({Dtype::kF64, {9, 300}}, Key(8))}});
}

// Recurrent networks: of tokens, of tokens and a state, and in both directions.
std::vector<Case> recurrent_cases() {
  const auto with_params = [](std::string name, const Function& f, const Params& params) {
    return model_case(std::move(name), f, with_noise(params));
  };
  const nn::RecurrentLm lstm{.vocabulary = 9, .context = 7, .layers = 2, .width = 6};
  nn::RecurrentLm gru = lstm;
  gru.kind = nn::RecurrentKind::kGru;
  const nn::LSTM both{.input = 3, .hidden = 5, .layers = 2, .bidirectional = true};
  return {with_params("lstm", lstm.function(), lstm.init(Key(11))),
          with_params("gru_state", gru.stateful_function(2, 3), gru.init(Key(12))),
          with_params("both_directions", nn::function_of(both, {Dtype::kF32, {4, 3}}),
                      both.init(Key(13)))};
}

// Loops in a loop; a carry whose parts change places, or are turned around; parts of what is
// repeated or transposed; results that are the carry, or shared by all steps; a result that nothing
// reads; and the gradient of all that.
Case loops_case() {
  const Type square{Dtype::kF32, {3, 3}};
  const std::vector<Input> inputs{{"a", square}, {"b", square}, {"xs", {Dtype::kF32, {3, 4, 3}}}};
  const Function loops = trace("loops", inputs, [](std::span<const Value> in) {
    const Value xs = transpose(in[2], {1, 0, 2});
    const auto inner = [&](Value c, Value x) {
      const Value next = c * 0.5 + broadcast(x, c.shape()) * in[1];
      return std::tuple{transpose(next, {1, 0}), sum(next)};
    };
    const auto outer = [&](std::tuple<Value, Value> c, Value x) {
      const auto [left, right] = c;
      const auto [turned, sums] = scan(inner, left, x, {.reverse = true});
      return std::tuple{std::tuple{right, transpose(turned, {1, 0})},
                        std::tuple{left, sums, in[1], x * 2.0}};
    };
    const auto [last, ys] = scan(outer, std::tuple{in[0], in[1]}, xs);
    const auto turn = [](Value c, Value x) {
      return std::tuple{transpose(c, {1, 0}), slice(x, 0, 0, 2)};
    };
    const Value repeated = broadcast(slice(in[0], 0, 1, 2), {5, 1, 3});
    const auto [turned, parts] = scan(turn, in[0], reshape(repeated, {5, 3}));
    return std::vector<Value>{std::get<0>(last),
                              std::get<1>(last),
                              std::get<0>(ys),
                              std::get<1>(ys),
                              std::get<2>(ys),
                              turned,
                              parts};
  });
  const Function loss = trace("loss", inputs, [&](std::span<const Value> in) {
    Value total = constant(in[0].builder(), 0, Dtype::kF32);
    for (const Value& v : in[0].builder().inline_function(loops, in)) total = total + sum(v * v);
    return std::vector<Value>{total};
  });
  const Function gradient = value_and_grad(loss, {0, 1, 2});
  const Function all = trace("loops", inputs, [&](std::span<const Value> in) {
    std::vector<Value> values = in[0].builder().inline_function(loops, in);
    for (const Value& v : in[0].builder().inline_function(gradient, in)) values.push_back(v);
    return values;
  });
  return model_case("loops", all, {});
}

// One number: a compiler may keep all of it in registers where main.cc calls it.
Case scalar_case() {
  const Function f = trace(
      "scalar", {{"x", {Dtype::kF32, {1}}}},
      [](std::span<const Value> in) { return std::vector<Value>{in[0] / 3.0 + in[0] * in[0]}; },
      {"y"});
  return model_case("scalar", f, {});
}

// Names with non-ASCII letters, and names that would end a comment or change the direction of text.
// Each input has its own value, so results show which is which.
Case names_case() {
  const Type type{Dtype::kF32, {2}};
  const std::string names[] = {"größe",
                               "grüße",
                               "名前",
                               "Имя",
                               "\xff",
                               "\xe2\x80\xae"
                               "x",
                               "a\xe2\x80\xa8#error",
                               "what?\?/",
                               "é́",
                               "mode",
                               "NAN",
                               "M_El"};
  std::vector<Input> inputs;
  for (const std::string& name : names) inputs.push_back({name, type});
  const Function f = trace("größen \xe2\x80\xae", inputs,
                           [&](std::span<const Value> in) {
                             Value sum = in[0];
                             for (std::size_t i = 1; i < in.size(); ++i) sum = sum * 3.0 + in[i];
                             const Builder::Scope scope(sum.builder(), "Schicht-ü\\");
                             return std::vector<Value>{exp(sum), in[1]};
                           },
                           {"größe", "Ergebnis-ß"});
  Case c = model_case("names", f, {{"名前", random_tensor(type, Key(9))}});
  c.element_names = {{"größe", {"Höhe in µm", "?\?/"}},
                     {"grüße", {"\xe2\x81\xa6links", "\xc3"}},
                     {"Ergebnis-ß", {"ja 👍", "nein\\"}}};
  return c;
}

// Attention without anything to attend to: its scratch is empty. And with a scale of -0, whose bits
// are the lowest integer.
Case nothing_case() {
  Sheet sheet("nothing");
  const auto rows = [](std::int64_t count, std::int64_t size) {
    return Type{Dtype::kF32, {1, count, size}};
  };
  sheet.add(op::scaled_dot_product_attention, {.inputs = {rows(3, 0), rows(0, 0), rows(0, 2)},
                                               .attributes = {{"causal", false}, {"scale", 1.0}}});
  sheet.add(op::scaled_dot_product_attention, {.inputs = {rows(3, 2), rows(2, 2), rows(2, 2)},
                                               .attributes = {{"causal", false}, {"scale", -0.0}}});
  return sheet.finish();
}

}  // namespace

std::vector<Case> op_cases() {
  constexpr std::size_t kMostCalls = 60;
  std::vector<Case> cases;
  std::unique_ptr<Sheet> sheet;
  const auto finish = [&] {
    if (sheet) cases.push_back(sheet->finish());
    sheet.reset();
  };
  for (const Op* op : all_ops())
    for (const Example& e : op->examples()) {
      if (!sheet) sheet = std::make_unique<Sheet>(fmt::format("ops{}", cases.size()));
      sheet->add(*op, e);
      if (sheet->size() == kMostCalls) finish();
    }
  finish();
  return cases;
}

std::vector<Case> network_cases() {
  std::vector<Case> cases;
  cases.push_back(mlp_case("digits", nn::mlp({784, 256, 128, 10}, relu)));
  cases.push_back(copied_case());
  cases.push_back(parts_case());
  cases.push_back(activations_case());
  for (const std::string& norm : all_names<nn::MlpNorm>())
    cases.push_back(mlp_case("norm_" + norm, nn::Mlp{{5, 8, 6, 2},
                                                     nn::activation_from_name("gelu"),
                                                     0,
                                                     "he",
                                                     from_name<nn::MlpNorm>(norm)}));
  cases.push_back(attention_case());
  cases.push_back(nothing_case());
  cases.push_back(quantized_case("bf16", Dtype::kBf16));
  cases.push_back(quantized_case("int8", Dtype::kI8));
  cases.push_back(training_case());
  cases.push_back(wide_case());
  for (Case& c : recurrent_cases()) cases.push_back(std::move(c));
  cases.push_back(loops_case());
  cases.push_back(scalar_case());
  cases.push_back(names_case());
  for (std::uint64_t i = 0; i < 4; ++i)
    cases.push_back(
        model_case(fmt::format("random{}", i),
                   laws::random_function(Key(i), 30, i == 3 ? Dtype::kF64 : Dtype::kF32), {}, i));
  return cases;
}

}  // namespace limpid::emit_test
