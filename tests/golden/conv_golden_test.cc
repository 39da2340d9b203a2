// Convolutions beside PyTorch's: values and every gradient. make_conv_fixtures.py has the layers.
#include "limpid/nn/conv.h"
#include "tests/golden/golden.h"

namespace limpid::golden {
namespace {

using nn::Padding;

struct ConvCase {
  std::string name;
  std::function<Value(const Args& params, Value x)> layer;
};

const ConvCase kCases[] = {
    {"conv1d",
     nn::Conv1d{.in = 3, .out = 4, .kernel = {3}, .padding = {.zeros = {2}}, .dilation = {2}}},
    {"conv2d", nn::Conv2d{.in = 4,
                          .out = 6,
                          .kernel = {3, 2},
                          .stride = {2, 1},
                          .padding = {.zeros = {1, 0}},
                          .groups = 2}},
    {"same", nn::Conv2d{.in = 2,
                        .out = 3,
                        .kernel = {2, 3},
                        .padding = {.kind = Padding::Kind::kSame},
                        .dilation = {1, 2}}},
    {"depthwise",
     nn::Conv2d{
         .in = 3, .out = 6, .kernel = {3}, .stride = {2}, .padding = {.zeros = {1}}, .groups = 3}},
    {"conv3d", nn::Conv3d{.in = 2,
                          .out = 3,
                          .kernel = {2, 1, 3},
                          .stride = {1, 2, 1},
                          .padding = {.zeros = {0, 0, 1}}}},
    {"transpose1d",
     nn::ConvTranspose1d{
         .in = 3, .out = 2, .kernel = {4}, .stride = {3}, .padding = {1}, .output_padding = {2}}},
    {"transpose2d", nn::ConvTranspose2d{.in = 4,
                                        .out = 6,
                                        .kernel = {3},
                                        .stride = {2},
                                        .padding = {1},
                                        .output_padding = {1, 0},
                                        .groups = 2}},
    {"transpose3d",
     nn::ConvTranspose3d{
         .in = 2, .out = 3, .kernel = {1, 2, 3}, .stride = {2, 1, 1}, .dilation = {1, 2, 1}}},
};

TEST(Convolutions, ValuesAndGradientsAgree) {
  const Params all = fixture("convolutions");
  for (const ConvCase& c : kCases) {
    Params golden = all;
    for (const char* name : {"x", "up", "weight", "bias"})
      golden.set(name, all.at(c.name + "." + name));
    const auto code = [&](const Args& in) { return c.layer(in, in.at("x")); };
    expect_case<double>(golden, c.name, ".y", {"x", "weight", "bias"}, "up", code, 1e-13);
    expect_case<float>(golden, c.name, ".y", {"x", "weight", "bias"}, "up", code, 4e-6);
  }
}

}  // namespace
}  // namespace limpid::golden
