// Recurrent networks beside PyTorch modules: logits and every gradient.
// make_recurrent_net_fixtures.py has the modules.
#include "limpid/nn/recurrent_net.h"

#include "tests/golden/golden.h"

namespace limpid::golden {
namespace {

void expect_network(const std::string& key, const std::string& data,
                    const std::vector<Input>& parameters,
                    const std::function<Value(const Args& params, Value x)>& net) {
  const Params all = fixture("recurrent_net");
  Params golden = all;
  std::vector<std::string> names{data};
  for (const Input& p : parameters) names.push_back(p.name);
  for (const std::string& name : names) golden.set(name, all.at(key + "." + name));
  golden.set("up", all.at(key + ".up"));
  for (const Input& p : parameters) EXPECT_TRUE(all.find(key + ".d" + p.name)) << p.name;
  const auto code = [&](const Args& in) { return net(in, in.at(data)); };
  expect_case<double>(golden, key, ".y", names, "up", code, 1e-13);
  expect_case<float>(golden, key, ".y", names, "up", code, 4e-6);
}

TEST(RecurrentNetworks, LanguageModelsAgree) {
  const nn::RecurrentLm lstm{.vocabulary = 7, .layers = 2, .width = 4};
  expect_network("lstm", "ids", lstm.parameters(), lstm);
  const nn::RecurrentLm gru{
      .kind = nn::RecurrentKind::kGru, .vocabulary = 7, .layers = 1, .width = 4, .tied = true};
  expect_network("gru", "ids", gru.parameters(), gru);
}

TEST(RecurrentNetworks, ThoseOfNumbersAgree) {
  const nn::RecurrentNet lstm{.steps = 5, .features = 3, .outputs = 2, .width = 4};
  expect_network("lstm_numbers", "x", lstm.parameters(), lstm);
  nn::RecurrentNet gru = lstm;
  gru.kind = nn::RecurrentKind::kGru;
  gru.layers = 2;
  expect_network("gru_numbers", "x", gru.parameters(), gru);
}

}  // namespace
}  // namespace limpid::golden
