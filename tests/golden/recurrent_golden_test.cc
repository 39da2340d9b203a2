// Recurrent layers beside PyTorch's: values, states and every gradient. make_recurrent_fixtures.py
// has the layers.
#include "limpid/nn/recurrent.h"
#include "tests/golden/golden.h"

namespace limpid::golden {
namespace {

struct RecurrentCase {
  std::string name;
  bool lengths;
  std::function<nn::Recurred(const Args& params, Value x, const nn::RecurrentInputs&)> run;
};

template <class L>
RecurrentCase recurrent(std::string name, L layer, bool lengths = false) {
  return {std::move(name), lengths,
          [layer](const Args& params, Value x, const nn::RecurrentInputs& inputs) {
            return layer.run(params, x, inputs);
          }};
}

const std::vector<RecurrentCase>& recurrent_cases() {
  static const std::vector<RecurrentCase> all{
      recurrent("rnn", nn::RNN{.input = 3, .hidden = 4, .layers = 2}),
      recurrent("relu",
                nn::RNN{.input = 3, .hidden = 4, .nonlinearity = "relu", .bidirectional = true}),
      recurrent("lstm", nn::LSTM{.input = 3, .hidden = 4}),
      recurrent("deep_lstm", nn::LSTM{.input = 3, .hidden = 2, .layers = 2, .bidirectional = true},
                true),
      recurrent("gru", nn::GRU{.input = 3, .hidden = 4, .bias = false}),
      recurrent("deep_gru", nn::GRU{.input = 3, .hidden = 2, .layers = 2, .bidirectional = true},
                true)};
  return all;
}

TEST(Recurrent, ValuesStatesAndGradientsAgree) {
  const Params all = fixture("recurrent");
  for (const RecurrentCase& c : recurrent_cases()) {
    Params golden = all;
    std::vector<std::string> names;
    const std::string prefix = c.name + ".";
    for (const auto& [name, value] : all) {
      if (!name.starts_with(prefix)) continue;
      const std::string rest = name.substr(prefix.size());
      golden.set(rest, value);
      if (all.find(prefix + "d" + rest)) names.push_back(rest);
    }
    const auto code = [&](const Args& in) {
      nn::RecurrentInputs given;
      given.state = {in.at("h"), in.find("c") ? in.at("c") : Value()};
      if (c.lengths)
        given.lengths = constant(in.at("x").builder(), Tensor::from<std::int32_t>({3}, {5, 3, 1}));
      const nn::Recurred r = c.run(in, in.at("x"), given);
      std::vector<Value> flat;
      for (const Value& v : {r.y, r.state.h, r.state.c})
        if (v) flat.push_back(reshape(v, {v.shape().elements()}));
      return concatenate(flat, 0);
    };
    expect_case<double>(golden, c.name, ".y", names, "up", code, 1e-13);
    expect_case<float>(golden, c.name, ".y", names, "up", code, 4e-6);
  }
}

}  // namespace
}  // namespace limpid::golden
