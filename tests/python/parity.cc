// C++'s results for every op, layer, loss and optimiser, and for with_gradient: a table of Function
// texts and hashes of results, which parity_test.py compares with Python's. Depends on
// inspect/op_example.h.
//
// parity FOLDER: writes FOLDER/table.json and FOLDER/inputs.safetensors
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "limpid/core/json.h"
#include "limpid/inspect/bit_hashes.h"
#include "limpid/inspect/op_example.h"
#include "limpid/limpid.h"

namespace limpid {
namespace {

using Code = std::function<Value(std::span<const Value>)>;

struct Table {
  std::vector<Json> rows;
  Params inputs;

  void add(const std::string& name, const Function& f, const std::vector<Tensor>& in,
           const Params& first = {}) {
    for (std::size_t i = 0; i < in.size(); ++i) inputs.set(name + "/" + std::to_string(i), in[i]);
    std::vector<Tensor> values = first.values();
    values.insert(values.end(), in.begin(), in.end());
    char hash[17];
    std::snprintf(hash, sizeof hash, "%016llx",
                  static_cast<unsigned long long>(hash_of_numbers(interpret(f, values))));
    rows.push_back(Json{{"name", name}, {"text", to_text(f)}, {"hash", std::string(hash)}});
  }
};

void add_ops(Table& table) {
  for (const Op* op : all_ops()) {
    const std::vector<Example> examples = op->examples();
    for (std::size_t i = 0; i < examples.size(); ++i)
      table.add("op " + std::string(op->name) + " " + std::to_string(i),
                function_of(*op, examples[i]), random_inputs(examples[i], Key(1)));
  }
}

template <class L>
void add_layer(Table& table, const std::string& name, const L& layer, const Type& x) {
  const Function f = nn::function_of(layer, x, name);
  table.add("layer " + name, f, {random_tensor(x, Key(2), -1, 1, 5)},
            nn::init_layer(layer, Key(3)));
}

void add_layers(Table& table) {
  const Type rows = f32({3, 8});
  add_layer(table, "linear", nn::Linear{8, 5}, rows);
  add_layer(table, "linear_without_bias", nn::Linear{8, 5, false, nn::orthogonal()}, rows);
  add_layer(table, "embedding", nn::Embedding{5, 4}, {Dtype::kI32, {7}});
  add_layer(table, "dropout", nn::Dropout{0.5}, rows);
  add_layer(table, "layer_norm", nn::LayerNorm{8}, rows);
  add_layer(table, "rms_norm", nn::RmsNorm{8}, rows);
  add_layer(table, "group_norm", nn::GroupNorm{2, 8}, rows);
  add_layer(table, "attention", nn::MultiHeadAttention{8, 2}, rows);
  add_layer(table, "grouped_attention",
            nn::MultiHeadAttention{.features = 8, .heads = 4, .kv_heads = 2, .causal = true}, rows);
  add_layer(table, "feed_forward", nn::FeedForward{8, 16, gelu}, rows);
  add_layer(table, "gated_feed_forward", nn::GatedFeedForward{8, 16, geglu, true}, rows);
  add_layer(table, "sequential",
            nn::sequential(nn::Linear{8, 8}, relu, nn::Residual{nn::Linear{8, 8}},
                           nn::PreNorm{nn::LayerNorm{8}, nn::FeedForward{8, 8}},
                           nn::PostNorm{nn::RmsNorm{8}, nn::Linear{8, 8}},
                           nn::named("head", nn::Linear{8, 2})),
            rows);
  for (const nn::MlpNorm norm :
       {nn::MlpNorm::kNone, nn::MlpNorm::kLayer, nn::MlpNorm::kRms, nn::MlpNorm::kBatch}) {
    nn::Mlp net = nn::mlp({8, 6, 3}, gelu, 0.1);
    net.norm = norm;
    Params params = net.init(Key(3));
    params.merge("", net.init_state());
    table.add("layer mlp_" + std::string(nn::name(norm)), net.function(),
              {random_tensor(f32({8}), Key(2), -1, 1)}, params);
  }
  nn::CharLm chars{11, 4, 6, nn::mlp({24, 16, 11}, tanh)};
  table.add("layer char_lm", chars.function(),
            {random_tensor({Dtype::kI32, {4}}, Key(2), 0, 1, 11)}, chars.init(Key(3)));
  const nn::RecurrentLm texts{nn::RecurrentKind::kGru, 11, 4, 2, 6, true};
  table.add("layer recurrent_lm", texts.function(),
            {random_tensor({Dtype::kI32, {4}}, Key(2), 0, 1, 11)}, texts.init(Key(3)));
  const nn::RecurrentNet numbers{nn::RecurrentKind::kLstm, 5, 3, 2, 2, 4};
  table.add("layer recurrent_net", numbers.function(), {random_tensor(f32({5, 3}), Key(2), -1, 1)},
            numbers.init(Key(3)));
  for (nn::Gpt net : {nn::Gpt{}, nn::gpt2_shaped(), nn::llama_shaped()}) {
    net.vocabulary = 13, net.context = 6, net.layers = 2, net.width = 8, net.heads = 2;
    const std::string name = net.bias ? "gpt2" : net.tied ? "gpt" : "llama";
    table.add("layer " + name, net.function(),
              {random_tensor({Dtype::kI32, {6}}, Key(2), 0, 1, 13)}, net.init(Key(3)));
  }
  const nn::Perceptron perceptron{8};
  std::vector<Input> inputs = nn::inputs_of(perceptron.init());
  inputs.push_back({"x", rows});
  table.add("layer perceptron",
            trace("perceptron", inputs,
                  [&](std::span<const Value> in) {
                    return std::vector{perceptron(nn::args_of(perceptron.init(), in), in.back())};
                  },
                  {"y"}),
            {random_tensor(rows, Key(2), -1, 1)}, perceptron.init());
}

void add_losses(Table& table) {
  const Type pair = f32({4, 6}), labels{Dtype::kI32, {4}}, flags{Dtype::kBool, {4}};
  const auto add = [&](const std::string& name, const std::vector<Type>& types, const Code& code,
                       double low = 0.05) {
    std::vector<Input> inputs;
    std::vector<Tensor> values;
    for (std::size_t i = 0; i < types.size(); ++i) {
      inputs.push_back({std::string(1, static_cast<char>('a' + i)), types[i]});
      values.push_back(random_tensor(types[i], Key(4).fold_in(i), low, 1, 6));
    }
    table.add("loss " + name,
              trace(name, inputs, [&](std::span<const Value> in) { return std::vector{code(in)}; }),
              values);
  };
  using In = std::span<const Value>;
  add("softmax_cross_entropy", {pair, labels},
      [](In v) { return cross_entropy(v[0], v[1], {.reduction = Reduction::kNone}); });
  add("cross_entropy", {pair, labels}, [](In v) { return cross_entropy(v[0], v[1]); });
  add("cross_entropy_smoothed", {pair, labels, f32({6})}, [](In v) {
    return cross_entropy(v[0], v[1],
                         {.reduction = Reduction::kSum,
                          .label_smoothing = 0.1,
                          .ignore_index = 2,
                          .class_weights = v[2]});
  });
  add("cross_entropy_soft", {pair, pair}, [](In v) { return cross_entropy(v[0], v[1]); });
  add("nll_loss", {pair, labels, f32({6})}, [](In v) {
    return nll_loss(v[0], v[1],
                    {.reduction = Reduction::kMean, .ignore_index = 1, .class_weights = v[2]});
  });
  add("binary_cross_entropy", {pair, pair, f32({6})},
      [](In v) { return binary_cross_entropy_with_logits(v[0], v[1], Reduction::kNone, v[2]); });
  add("multi_label_loss", {pair, pair}, [](In v) { return multi_label_loss(v[0], v[1]); });
  add("kl_divergence", {pair, pair}, [](In v) { return kl_divergence(v[0], v[1]); });
  add("hinge_loss", {pair, pair}, [](In v) { return hinge_loss(v[0], v[1], Reduction::kSum); });
  add("mse_loss", {pair, pair}, [](In v) { return mse_loss(v[0], v[1]); });
  add("mae_loss", {pair, pair}, [](In v) { return mae_loss(v[0], v[1], Reduction::kNone); });
  add("huber_loss", {pair, pair}, [](In v) { return huber_loss(v[0], v[1], 0.3); });
  add("smooth_l1_loss", {pair, pair}, [](In v) { return smooth_l1_loss(v[0], v[1], 0.4); });
  add("info_nce_loss", {pair, pair},
      [](In v) { return info_nce_loss(v[0], v[1], {.temperature = 0.2, .normalize = false}); });
  add("triplet_margin_loss", {pair, pair, pair},
      [](In v) { return triplet_margin_loss(v[0], v[1], v[2], 0.5); });
  add("cosine_embedding_loss", {pair, pair, flags},
      [](In v) { return cosine_embedding_loss(v[0], v[1], v[2], 0.1); });
}

void add_optimizers(Table& table) {
  const Params params{{"w", random_tensor(f32({3, 2}), Key(5))},
                      {"b", random_tensor(f32({2}), Key(6))}};
  const auto add = [&](const std::string& name, const optim::Optimizer& optimizer) {
    const Function f = optim::update_function(optimizer, nn::inputs_of(params));
    std::vector<Tensor> values = params.values();
    for (const Tensor& t : params.values()) values.push_back(random_tensor(t.type(), Key(7)));
    const Params state = optim::init(optimizer, params);
    for (const Tensor& t : state.values()) values.push_back(t);
    values.push_back(Tensor::scalar(0.1f));
    table.add("optimizer " + name, f, values);
  };
  for (const std::string& name : optim::optimizer_names())
    add(name, optim::optimizer_from_name(name));
  add("sgd_nesterov", optim::Sgd{.momentum = 0.9, .weight_decay = 0.1, .nesterov = true});
  add("rmsprop_centered", optim::RmsProp{.momentum = 0.5, .centered = true});
  add("adam_amsgrad", optim::Adam{.weight_decay = 0.1, .amsgrad = true, .decay_vectors = false});
}

// Code with its own gradient: differentiated, of a batch, of a batch of batches, and twice.
void add_with_gradient(Table& table) {
  const auto add = [&](const std::string& name, const Type& a, const Code& code) {
    const std::vector<Type> types{a, f32({6})};
    const Function f = trace(name, {{"a", types[0]}, {"b", types[1]}},
                             [&](std::span<const Value> in) { return std::vector{code(in)}; });
    table.add("gradient " + name, simplify(expand(f)),
              {random_tensor(types[0], Key(8)), random_tensor(types[1], Key(9))});
  };
  using In = std::span<const Value>;
  const auto doubled = with_gradient([](Value x, Value w) { return sum(x * w); },
                                     [](Value x, Value w, Value y, Value cotangent) {
                                       const Value of_x = 2.0 * cotangent * w,
                                                   of_w = 2.0 * cotangent * x;
                                       return std::tuple{of_x, of_w + 0.5 * y};
                                     });
  const auto rounded = with_gradient([](Value x) { return round(x); },
                                     [](Value, Value, Value cotangent) { return cotangent; });
  add("straight_through", f32({6}), [&](In v) {
    return grad([&](Value x) { return sum(rounded(x * v[1])); })(v[0]) + rounded(v[0]);
  });
  add("batch", f32({4, 6}), [&](In v) {
    return grad([&](Value w) { return sum(vmap([&](Value x) { return doubled(x, w); })(v[0])); })(
        v[1]);
  });
  add("batches", f32({2, 4, 6}), [&](In v) {
    return grad([&](Value w) {
      return sum(vmap(
          [&](Value rows) { return vmap([&](Value x) { return doubled(x, w); })(rows); })(v[0]));
    })(v[1]);
  });
  add("twice", f32({4, 6}), [&](In v) {
    return vmap([&](Value x) {
      return grad(
          [&](Value w) { return sum(x * grad([&](Value u) { return doubled(u, w); })(x)); })(v[1]);
    })(v[0]);
  });
}

}  // namespace
}  // namespace limpid

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  limpid::Table table;
  limpid::add_ops(table);
  limpid::add_layers(table);
  limpid::add_losses(table);
  limpid::add_optimizers(table);
  limpid::add_with_gradient(table);
  const std::filesystem::path folder = argv[1];
  std::ofstream(folder / "table.json") << limpid::Json(table.rows).dump();
  limpid::save_safetensors(folder / "inputs.safetensors", {table.inputs, {}});
}
