// Pictures beside PyTorch's: resizing, sampling, channels to pixels, norms across channels.
#include "limpid/nn/picture.h"

#include "tests/golden/golden.h"

namespace limpid::golden {
namespace {

struct PictureCase {
  std::string name;
  std::vector<std::pair<std::string, std::string>> inputs;  // names, and where they are
  std::function<Value(const Args&)> code;
  double tolerance = 1e-13;
};

std::vector<PictureCase> picture_cases() {
  std::vector<PictureCase> cases;
  const auto of_x = [&](const std::string& name, const std::string& x, auto f,
                        double tolerance = 1e-13) {
    cases.push_back({name, {{"x", x}}, [=](const Args& in) { return f(in.at("x")); }, tolerance});
  };
  const auto upsampled = [&](const std::string& name, const std::string& x, nn::Upsample layer,
                             double tolerance = 1e-13) {
    of_x(
        "resize." + name, x, [=](Value v) { return layer({}, v); }, tolerance);
  };
  upsampled("nearest", "x2", {.size = {7, 4}});
  upsampled("nearest_exact", "x2", {.size = {7, 4}, .mode = "nearest-exact"});
  upsampled("linear", "x1", {.size = {8}, .mode = "linear"});
  upsampled("bilinear", "x2", {.size = {7, 4}, .mode = "bilinear"});
  upsampled("bilinear.corners", "x2", {.size = {7, 4}, .mode = "bilinear", .align_corners = true});
  upsampled("trilinear", "x3", {.size = {2, 6, 5}, .mode = "trilinear"});
  upsampled("bicubic", "x2", {.size = {7, 4}, .mode = "bicubic"});
  upsampled("bicubic.corners", "x2", {.size = {7, 4}, .mode = "bicubic", .align_corners = true});
  upsampled("scale", "x2", {.scale_factor = 1.7, .mode = "bilinear"});
  for (const auto& [name, mode] :
       {std::pair("bilinear", ResizeMode::kLinear), {"bicubic", ResizeMode::kCubic}})
    of_x(std::string("resize.") + name + ".antialias", "x2", [mode = mode](Value x) {
      return resize(x, {3, 2},
                    {.mode = mode, .antialias = true, .cubic = -0.5, .exclude_outside = true});
    });
  for (const auto& [name, mode] : {std::pair("bilinear", SampleMode::kLinear),
                                   {"nearest", SampleMode::kNearest},
                                   {"bicubic", SampleMode::kCubic}})
    for (const auto& [around, padding] : {std::pair("zeros", SamplePadding::kZeros),
                                          {"border", SamplePadding::kBorder},
                                          {"reflection", SamplePadding::kReflection}})
      for (const bool corners : {false, true})
        cases.push_back(
            {std::string("sample.") + name + "." + around + (corners ? ".corners" : ".borders"),
             {{"x", "x2"}, {"grid", "grid"}},
             [mode = mode, padding = padding, corners](const Args& in) {
               return grid_sample(in.at("x"), in.at("grid"), {mode, padding, corners});
             },
             1e-12});
  cases.push_back({"sample.3d", {{"x", "x3"}, {"grid", "grid3"}}, [](const Args& in) {
                     return grid_sample(in.at("x"), in.at("grid"));
                   }});
  for (const bool corners : {false, true})
    cases.push_back(
        {corners ? "affine.corners" : "affine", {{"theta", "theta"}}, [=](const Args& in) {
           return affine_grid(in.at("theta"), {3, 5}, corners);
         }});
  of_x("shuffle", "x2", [](Value x) { return pixel_shuffle(x, 2); });
  of_x("lrn", "x2", [](Value x) { return local_response_norm(x, 3, 0.5, 0.75, 1.5); });
  of_x("lrn.even", "x2", [](Value x) { return local_response_norm(x, 2, 0.5); });
  of_x("instance_norm", "x2", [](Value x) { return instance_norm(x); });
  return cases;
}

TEST(Pictures, ValuesAndGradientsAgree) {
  for (const PictureCase& c : picture_cases()) {
    Params golden = fixture("pictures");
    std::vector<std::string> names;
    for (const auto& [name, source] : c.inputs) {
      golden.set(name, golden.at(source));
      names.push_back(name);
    }
    expect_case<double>(golden, c.name, ".y", names, c.name + ".up", c.code, c.tolerance);
    expect_case<float>(golden, c.name, ".y", names, c.name + ".up", c.code, 2e-5);
  }
}

TEST(Pictures, UnshufflingTakesShufflingBack) {
  const Tensor x = fixture("pictures").at("x2");
  const Function f = trace("there and back", {{"x", x.type()}}, [](std::span<const Value> in) {
    return std::vector<Value>{pixel_unshuffle(pixel_shuffle(in[0], 2), 2)};
  });
  EXPECT_TRUE(interpret(f, std::vector{x})[0].same_bits(x));
}

}  // namespace
}  // namespace limpid::golden
