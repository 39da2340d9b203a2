// Initialisation: spreads as the papers give them, and what they do through fifty layers.
#include "limpid/nn/init.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/ops.h"
#include "tests/refusals.h"

namespace limpid::nn {
namespace {

struct Spread {
  double mean = 0, std = 0, largest = 0;
};

Spread spread(const Tensor& t) {
  Spread s;
  const auto values = t.values<float>();
  for (float v : values) s.mean += static_cast<double>(v);
  s.mean /= static_cast<double>(values.size());
  for (float v : values) {
    s.std += std::pow(static_cast<double>(v) - s.mean, 2);
    s.largest = std::max(s.largest, std::fabs(static_cast<double>(v)));
  }
  s.std = std::sqrt(s.std / static_cast<double>(values.size()));
  return s;
}

struct Expected {
  Init init;
  double std;
  double largest;  // what no value exceeds
};

TEST(Init, SpreadsAreThoseOfThePapers) {
  const double in = 300, out = 200;
  const double none = 1e9;
  const double root2 = std::sqrt(2.0);
  const Expected cases[] = {
      {zeros(), 0, 0},
      {constant(-0.5), 0, 0.5},
      {normal(0.02), 0.02, none},
      {truncated_normal(0.02), 0.02 * 0.8796, 0.04001},
      {xavier_uniform(), std::sqrt(2 / (in + out)), std::sqrt(6 / (in + out)) * 1.0001},
      {xavier_normal(), std::sqrt(2 / (in + out)), none},
      {kaiming_uniform(root2), std::sqrt(2 / in), std::sqrt(6 / in) * 1.0001},
      {kaiming_normal(root2), std::sqrt(2 / in), none},
      {lecun_uniform(), std::sqrt(1 / in), std::sqrt(3 / in) * 1.0001},
      {lecun_normal(), std::sqrt(1 / in), none},
      {depth_scaled_normal(12), 0.02 / std::sqrt(24.0), none},
      {orthogonal(), std::sqrt(1 / in), none}};
  for (const Expected& e : cases) {
    const Spread s = spread(e.init(Key(5), {200, 300}));
    const int scheme = static_cast<int>(e.init.scheme);
    // 60,000 draws: the sample deviation is within 1.5 % of the true one, the mean within five of
    // its own.
    EXPECT_NEAR(s.std, e.std, 0.015 * e.std) << scheme;
    const double centre = e.init.scheme == Init::Scheme::kConstant ? e.init.scale : 0;
    EXPECT_NEAR(s.mean, centre, 5 * e.std / std::sqrt(60'000.0)) << scheme;
    EXPECT_LE(s.largest, e.largest) << scheme;
  }
}

TEST(Init, NamesAreThoseOfTheSchemes) {
  struct Named {
    const char* name;
    Init::Scheme scheme;
    double scale;  // for a gain of 1.5; the schemes of LeCun have no gain
  };
  const Named all[] = {{"he", Init::Scheme::kKaimingNormal, 1.5},
                       {"he-uniform", Init::Scheme::kKaimingUniform, 1.5},
                       {"xavier", Init::Scheme::kXavierNormal, 1.5},
                       {"xavier-uniform", Init::Scheme::kXavierUniform, 1.5},
                       {"lecun", Init::Scheme::kLecunNormal, 1},
                       {"lecun-uniform", Init::Scheme::kLecunUniform, 1},
                       {"orthogonal", Init::Scheme::kOrthogonal, 1.5},
                       {"normal", Init::Scheme::kNormal, 0.02},
                       {"truncated-normal", Init::Scheme::kTruncatedNormal, 0.02},
                       {"zeros", Init::Scheme::kConstant, 0}};
  EXPECT_EQ(std::size(all), init_names().size());
  for (const Named& named : all) {
    const Init init = init_from_name(named.name, 1.5);
    EXPECT_EQ(init.scheme, named.scheme) << named.name;
    EXPECT_EQ(init.scale, named.scale) << named.name;
  }
}

// An output of a convolution adds up every place of its kernel, in each channel.
TEST(Init, SpreadsOfConvolutionsCountTheirKernels) {
  const double in = 20 * 3 * 5, out = 40 * 3 * 5;
  EXPECT_NEAR(spread(lecun_normal()(Key(5), {40, 20, 3, 5})).std, std::sqrt(1 / in),
              0.03 * std::sqrt(1 / in));
  EXPECT_NEAR(spread(xavier_normal()(Key(5), {40, 20, 3, 5})).std, std::sqrt(2 / (in + out)),
              0.03 * std::sqrt(2 / (in + out)));
}

TEST(Init, OrthogonalIsOrthogonal) {
  for (const Shape& shape : {Shape{20, 50}, Shape{50, 20}, Shape{30, 30}}) {
    const Tensor w = orthogonal(2)(Key(1), shape);
    const auto v = w.values<float>();
    const auto rows = static_cast<std::size_t>(shape[0]);
    const auto columns = static_cast<std::size_t>(shape[1]);
    const bool by_rows = rows <= columns;
    const std::size_t n = by_rows ? rows : columns;
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < n; ++b) {
        double dot = 0;
        for (std::size_t k = 0; k < (by_rows ? columns : rows); ++k)
          dot += static_cast<double>(by_rows ? v[a * columns + k] : v[k * columns + a]) *
                 static_cast<double>(by_rows ? v[b * columns + k] : v[k * columns + b]);
        EXPECT_NEAR(dot, a == b ? 4 : 0, 1e-5);
      }
  }
}

// With more than two dimensions, the matrix is the first dimension by all others.
TEST(Init, OrthogonalTakesAKernelForARow) {
  for (const auto& [kernels, matrix] :
       {std::pair{Shape{4, 2, 3}, Shape{4, 6}}, {Shape{9, 2, 1, 2}, Shape{9, 4}}})
    EXPECT_TRUE(
        orthogonal()(Key(1), kernels).reshape(matrix).same_bits(orthogonal()(Key(1), matrix)))
        << to_string(kernels);
}

TEST(Init, OrthogonalMayBeOfNothing) {
  for (const Shape& shape : {Shape{0, 5}, Shape{5, 0}})
    EXPECT_EQ(orthogonal()(Key(1), shape).shape(), shape);
}

TEST(Init, DependsOnTheKeyAlone) {
  const Init he = kaiming_normal(1.5);
  EXPECT_TRUE(he(Key(3), {64, 32}).same_bits(he(Key(3), {64, 32})));
  EXPECT_FALSE(he(Key(3), {64, 32}).same_bits(he(Key(4), {64, 32})));
  for (const Init& init : {he, orthogonal()}) EXPECT_THROW(init(Key(3), {64}), Error);
  EXPECT_THROW(init_from_name("hope", 1), Error);
}

// The experiment: 50 ReLU layers of width 256. A small std dies out, a large one explodes, He's
// stays.
double std_after_fifty(const Init& init) {
  Tensor x = normal(1)(Key(0), {64, 256});
  const Function layer = trace(
      "layer", {{"x", x.type()}, {"w", {Dtype::kF32, {256, 256}}}},
      [](std::span<const Value> in) { return std::vector<Value>{relu(linear(in[0], in[1]))}; });
  const Executable run = compile(layer);
  for (std::uint64_t l = 0; l < 50; ++l)
    x = run(std::vector<Tensor>{x, init(Key(1).fold_in(l), {256, 256})})[0];
  return spread(x).std;
}

TEST(Init, VarianceThroughFiftyLayers) {
  EXPECT_LT(std_after_fifty(normal(0.01)), 1e-15);
  const double exploded = std_after_fifty(normal(1));
  EXPECT_FALSE(exploded < 1e20);
  const double he = std_after_fifty(kaiming_normal(std::sqrt(2.0)));
  EXPECT_GT(he, 0.2);
  EXPECT_LT(he, 5);
}

TEST(Mlp, HasAFunctionBeforeThereIsMemoryForItsParameters) {
  for (const MlpNorm norm : {MlpNorm::kNone, MlpNorm::kLayer, MlpNorm::kRms, MlpNorm::kBatch}) {
    Mlp net = mlp({2, 3, 1}, relu);
    net.norm = norm;
    const Function small = net.function();
    Params drawn = net.init(Key(0));
    drawn.merge("", net.init_state());
    std::vector<Input> inputs = inputs_of(drawn);
    inputs.push_back({"x", {Dtype::kF32, {2}}});
    EXPECT_EQ(small.inputs(), inputs) << name(norm);
    net.sizes[1] = std::int64_t{1} << 48;
    EXPECT_EQ(net.function().inputs().size(), inputs.size()) << name(norm);
  }
}

// A dropout below 0 or NaN would be none, without a word.
TEST(Mlp, RefusesADropoutThatIsNoShare) {
  for (const double dropout : {-0.1, 1.0, std::numeric_limits<double>::quiet_NaN()}) {
    const Mlp net = mlp({2, 3, 1}, relu, dropout);
    for (const auto& use : {std::function<void()>([&] { net.init(Key(0)); }),
                            std::function<void()>([&] { net.function(); })})
      expect_refused(ErrorCode::kInvalidArgument, [&] { use(); });
  }
}

TEST(Mlp, ConfigurationReadsBack) {
  Mlp net = mlp({5, 4, 3}, gelu, 0.25);
  net.init_name = "xavier";
  net.norm = MlpNorm::kRms;
  const Mlp back = Mlp::from_config(net.config());
  EXPECT_EQ(back.config(), net.config());
  EXPECT_EQ(back.function(), net.function());
  // That of an older version says nothing of norms.
  EXPECT_EQ(Mlp::from_config(R"({"model":"mlp","sizes":[5,4,3],"activation":"gelu",)"
                             R"("dropout":0.25,"init":"he"})")
                .config(),
            mlp({5, 4, 3}, gelu, 0.25).config());
  for (const char* broken :
       {"", "{}", "[1]", "{\"model\":\"cnn\"}",
        R"({"model":"mlp","sizes":[3],"activation":"relu","dropout":0,"init":"he"})",
        R"({"model":"mlp","sizes":[3,-1],"activation":"relu","dropout":0,"init":"he"})",
        R"({"model":"mlp","sizes":[3,1.5],"activation":"relu","dropout":0,"init":"he"})",
        R"({"model":"mlp","sizes":[3,1e300],"activation":"relu","dropout":0,"init":"he"})",
        R"({"model":"mlp","sizes":[3,18446744073709551615],"activation":"relu","dropout":0,)"
        R"("init":"he"})",
        R"({"model":"mlp","sizes":"3","activation":"relu","dropout":0,"init":"he"})",
        R"({"model":"mlp","sizes":[3,1],"activation":"what","dropout":0,"init":"he"})",
        R"({"model":"mlp","sizes":[3,1],"activation":"relu","dropout":1,"init":"he"})",
        R"({"model":"mlp","sizes":[3,1],"activation":"relu","dropout":-0.1,"init":"he"})"})
    EXPECT_THROW(Mlp::from_config(broken), Error) << broken;
  for (const char* broken : {"", R"({"model":"mlp"})"})
    expect_refused(ErrorCode::kParse, [&] { Mlp::from_config(broken); });
}

}  // namespace
}  // namespace limpid::nn
