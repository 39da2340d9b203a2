#include "limpid/nn/char_lm.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "limpid/limpid.h"
#include "tests/refusals.h"

namespace limpid::nn {
namespace {

CharLm small() { return {5, 3, 2, Mlp{{6, 4, 5}}}; }

std::int64_t elements(const Params& params) {
  std::int64_t sum = 0;
  for (const auto& [name, value] : params) sum += value.elements();
  return sum;
}

TEST(CharLm, HasTheParametersThatOneCounts) {
  // 80 * 32 + (256 * 128 + 128) + (128 * 128 + 128) + (128 * 80 + 80)
  EXPECT_EQ(elements(CharLm{80, 8, 32, Mlp{{256, 128, 128, 80}}}.init(Key(0))), 62'288);
  EXPECT_EQ(elements(CharLm{65, 8, 32, Mlp{{256, 128, 128, 65}}}.init(Key(0))), 59'873);
}

TEST(CharLm, IsAnMlpOfTheEmbeddingsOneBehindTheOther) {
  const CharLm net = small();
  const Params params = net.init(Key(3));
  const Function f = net.function();
  EXPECT_EQ(f.inputs().front().name, "embedding.weight");
  EXPECT_EQ(to_string(f.inputs().back().type), "i32[3]");
  std::vector<Tensor> inputs;
  for (const auto& [name, value] : params) inputs.push_back(value);
  inputs.push_back(Tensor::from<std::int32_t>({3}, {4, 0, 4}));
  const Tensor got = compile(f)(inputs)[0];

  const Tensor& table = params.at("embedding.weight");
  std::vector<float> x;
  for (const std::int64_t row : {4, 0, 4})
    for (const float v : table.rows(row, 1).values<float>()) x.push_back(v);
  std::vector<Tensor> of_mlp(inputs.begin() + 1, inputs.end() - 1);
  of_mlp.push_back(Tensor::from<float>({6}, x));
  EXPECT_TRUE(got.same_bits(interpret(net.mlp.function(), of_mlp)[0]));
}

TEST(CharLm, IsWrittenDownAndReadBack) {
  CharLm net = small();
  net.mlp.dropout = 0.25;
  const CharLm read = CharLm::from_config(net.config());
  EXPECT_EQ(read.config(), net.config());
  EXPECT_THROW(CharLm::from_config("{}"), Error);
  const std::string deep(200'000, '[');
  EXPECT_THROW(CharLm::from_config(R"({"model": "charlm", "vocabulary": 2, "context": 1, )"
                                   R"("embedding": 1, "mlp": )" +
                                   deep + std::string(deep.size(), ']') + "}"),
               Error);
  EXPECT_THROW(CharLm::from_config(net.mlp.config()), Error);
  // What is read is checked, and so is the part of it.
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string text = net.config();
    text.replace(text.find(from), from.size(), to);
    expect_refused(ErrorCode::kInvalidArgument, [&] { CharLm::from_config(text); });
  };
  refused(R"("context":3)", R"("context":4)");
  refused(R"("model":"mlp")", R"("model":"gpt")");
}

TEST(CharLm, RefusesTextsOfAnotherLength) {
  const auto logits_of = [](const Shape& ids) {
    compile(small())(small().init(Key(0)), Tensor::zeros({Dtype::kI32, ids}));
  };
  logits_of({4, 3});
  for (const Shape& ids : {Shape{}, Shape{2}, Shape{4, 6}})
    expect_refused(ErrorCode::kShape, [&] { logits_of(ids); });
}

TEST(CharLm, RefusesSizesThatDoNotFit) {
  for (const CharLm& net :
       {CharLm{0, 3, 2, Mlp{{6, 5}}}, CharLm{5, 3, 2, Mlp{{7, 5}}}, CharLm{5, 3, 2, Mlp{{6, 4}}},
        CharLm{5, 3, 2, Mlp{{6}}}, CharLm{5, 3, 2, Mlp{{8, 5}}}, CharLm{5, 0, 2, Mlp{{6, 5}}},
        CharLm{5, 3, 0, Mlp{{6, 5}}},
        CharLm{5, 3, 2, Mlp{.sizes = {6, 4, 5}, .norm = MlpNorm::kBatch}}}) {
    EXPECT_THROW(net.init(Key(0)), Error);
    EXPECT_THROW(net.function(), Error);
  }
  const CharLm net{5, 3, 2, Mlp{{7, 4}}};
  const std::function<void()> uses[] = {
      [&] { net.function(); }, [&] { net.init(Key(0)); },
      [&] {
        trace("f", {{"ids", {Dtype::kI32, {3}}}},
              [&](std::span<const Value> in) { return std::vector<Value>{net({}, in[0])}; });
      }};
  for (const auto& use : uses) expect_refused(ErrorCode::kInvalidArgument, [&] { use(); });
  // The smallest net: one token in the vocabulary, a context of one, one dimension.
  EXPECT_NO_THROW((CharLm{1, 1, 1, Mlp{{1, 1}}}.function()));
}

}  // namespace
}  // namespace limpid::nn
