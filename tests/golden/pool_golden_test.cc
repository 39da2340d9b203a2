// Pooling beside PyTorch's: values, places and gradients.
#include "limpid/ops/pool.h"

#include "tests/golden/golden.h"

namespace limpid::golden {
namespace {

struct PoolCase {
  std::string name, x;
  std::function<Value(Value)> pool;
};

std::vector<PoolCase> pool_cases() {
  const auto max = [](PoolOptions o) { return [=](Value x) { return max_pool(x, o); }; };
  const auto average = [](PoolOptions o, bool count_include_pad = true) {
    return [=](Value x) { return avg_pool(x, o, count_include_pad); };
  };
  const PoolOptions padded{.kernel = {3, 3}, .stride = {2, 2}, .low = {1, 1}};
  const PoolOptions partial{.kernel = {3, 3}, .stride = {2, 2}, .low = {1, 1}, .ceil_mode = true};
  return {
      {"max.1d", "x1", max({.kernel = {3}, .stride = {2}, .low = {1}})},
      {"max.2d", "x2", max({.kernel = {3, 2}, .stride = {2, 2}, .low = {1, 1}})},
      {"max.2d.dilated", "x2",
       max({.kernel = {3, 3}, .stride = {1, 1}, .low = {1, 1}, .dilation = {2, 2}})},
      {"max.2d.ceil", "x2", max({.kernel = {3, 3}, .stride = {2, 2}, .ceil_mode = true})},
      {"max.3d", "x3", max({.kernel = {2, 2, 2}, .stride = {1, 1, 1}})},
      {"avg.1d", "x1", average({.kernel = {4}, .stride = {3}, .low = {2}})},
      {"avg.2d", "x2", average(padded)},
      {"avg.2d.real", "x2", average(padded, false)},
      {"avg.2d.ceil", "x2", average(partial)},
      {"avg.2d.grid", "x2", average({.kernel = {3, 3}})},
      {"avg.3d", "x3", average({.kernel = {2, 3, 2}, .stride = {1, 1, 1}, .low = {1, 1, 1}})},
      {"lp.2d", "x2",
       [](Value x) {
         return lp_pool(x, 2, {.kernel = {3, 3}, .stride = {2, 2}});
       }},
      {"lp.1d.cubes", "x1", [](Value x) { return lp_pool(x, 3, {.kernel = {4}}); }},
      {"adaptive.avg.2d", "x2",
       [](Value x) {
         return adaptive_avg_pool(x, {3, 4});
       }},
      {"adaptive.avg.even", "x2",
       [](Value x) {
         return adaptive_avg_pool(x, {4, 1});
       }},
      {"adaptive.max.2d", "x2",
       [](Value x) {
         return adaptive_max_pool(x, {3, 4});
       }},
      {"adaptive.max.3d", "x3",
       [](Value x) {
         return adaptive_max_pool(x, {2, 4, 3});
       }},
  };
}

TEST(Pooling, ValuesAndGradientsAgree) {
  for (const PoolCase& c : pool_cases()) {
    Params golden = fixture("pooling");
    golden.set("x", golden.at(c.x));
    const auto code = [&](const Args& in) { return c.pool(in.at("x")); };
    expect_case<double>(golden, c.name, ".y", {"x"}, c.name + ".up", code, 1e-13);
    expect_case<float>(golden, c.name, ".y", {"x"}, c.name + ".up", code, 2e-6);
  }
}

TEST(Pooling, PlacesAndUnpoolingAgree) {
  Params golden = fixture("pooling");
  const Tensor &x = golden.at("x2"), &places = golden.at("places");
  const Function f = trace("places", {{"x", x.type()}}, [](std::span<const Value> in) {
    return std::vector<Value>{max_pool_indices(in[0], {.kernel = {2, 2}})};
  });
  EXPECT_TRUE(interpret(f, std::vector{x})[0].same_bits(places));
  golden.set("x", golden.at("pooled"));
  const auto code = [](const Args& in) { return max_unpool(in.at("x"), in.at("places"), {8, 11}); };
  expect_case<double>(golden, "unpool", ".y", {"x", "places"}, "unpool.up", code, 0);
}

}  // namespace
}  // namespace limpid::golden
