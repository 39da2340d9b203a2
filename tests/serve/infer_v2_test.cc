#include "limpid/serve/infer_v2.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "limpid/core/half.h"
#include "limpid/serve/http_error.h"

namespace limpid::serve {
namespace {

Signature echo_of(Dtype dtype) {
  return {.name = "m", .inputs = {{"x", {dtype, {}}}}, .outputs = {{"x", {dtype, {}}}}};
}

InferRequest all_wanted() {
  InferRequest request;
  request.outputs.push_back({0, false});
  return request;
}

// The answer's body is read back as an answer.
Tensor through_json(const Tensor& tensor) {
  const Signature model = echo_of(tensor.dtype());
  const Response response = infer_response(model, all_wanted(), std::vector<Tensor>{tensor}, 0);
  return parse_outputs(model, response.body, std::nullopt).at(0).value();
}

// Numbers of every exponent, and those next to powers of two.
TEST(InferV2, NumbersOfJsonReadBackAsTheSameBits) {
  std::vector<float> singles;
  std::vector<double> doubles;
  std::uint64_t bits = 1;
  for (int i = 0; i < 200'000; ++i) {
    bits = bits * 6364136223846793005u + 1442695040888963407u;
    const auto single = std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 32));
    const auto wide = std::bit_cast<double>(bits ^ bits >> 29);
    if (!std::isnan(single)) singles.push_back(single);
    if (!std::isnan(wide)) doubles.push_back(wide);
  }
  for (int e = -149; e < 128; ++e)
    for (const float x : {std::ldexp(1.0f, e), std::nextafter(std::ldexp(1.0f, e), 0.0f)})
      singles.push_back(x);
  // Its shortest decimal digits, read as f64, are midway between two floats.
  singles.push_back(7.038531e-26f);
  for (const double x : {0.0, -0.0, 5e-324, std::numeric_limits<double>::max()})
    doubles.push_back(x);
  const Tensor f32 = Tensor::from<float>({static_cast<std::int64_t>(singles.size())}, singles);
  EXPECT_TRUE(through_json(f32).same_bits(f32));
  const Tensor f64 = Tensor::from<double>({static_cast<std::int64_t>(doubles.size())}, doubles);
  EXPECT_TRUE(through_json(f64).same_bits(f64));
}

TEST(InferV2, EveryNumberOf16BitsReadsBack) {
  const auto is_nan = [](std::uint16_t bits, std::uint16_t infinity) {
    return (bits & 0x7fff) > infinity;
  };
  std::vector<Bf16> bf16;
  std::vector<F16> f16;
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    if (!is_nan(bits, 0x7f80)) bf16.push_back({bits});
    if (!is_nan(bits, 0x7c00)) f16.push_back({bits});
  }
  const Tensor a = Tensor::from<Bf16>({static_cast<std::int64_t>(bf16.size())}, bf16);
  const Tensor b = Tensor::from<F16>({static_cast<std::int64_t>(f16.size())}, f16);
  EXPECT_TRUE(through_json(a).same_bits(a));
  EXPECT_TRUE(through_json(b).same_bits(b));
}

TEST(InferV2, NumbersAreTheShortest) {
  const Tensor x = Tensor::from<float>({5}, {0.1f, 1.0f, 16777216.0f, -1e-7f, -0.0f});
  const Response response =
      infer_response(echo_of(Dtype::kF32), all_wanted(), std::vector<Tensor>{x}, 0);
  EXPECT_NE(response.body.find("[0.1,1,16777216,-1e-07,-0.0]"), std::string::npos) << response.body;
}

TEST(InferV2, NumbersOf16BitsAreTheShortest) {
  std::vector<Bf16> bf16;
  std::vector<F16> f16;
  for (const double x : {0.1, 1.0 / 3, 256.0, -0.0, 6e-5, 65280.0}) {
    bf16.push_back(to_bf16(x));
    f16.push_back(to_f16(x));
  }
  const auto body = [](const Tensor& x) {
    return infer_response(echo_of(x.dtype()), all_wanted(), std::vector<Tensor>{x}, 0).body;
  };
  const std::string of_bf16 = body(Tensor::from<Bf16>({6}, bf16));
  const std::string of_f16 = body(Tensor::from<F16>({6}, f16));
  EXPECT_NE(of_bf16.find("[0.1,0.334,256,-0.0,6e-05,65300]"), std::string::npos) << of_bf16;
  EXPECT_NE(of_f16.find("[0.1,0.3333,256,-0.0,6e-05,65280]"), std::string::npos) << of_f16;
}

TEST(InferV2, EveryInputHasAsManyRows) {
  const Signature model{
      .name = "m",
      .inputs = {{"x", {Dtype::kF32, {}}}, {"y", {Dtype::kF32, {}}}, {"z", {Dtype::kF32, {}}}},
      .outputs = {}};
  const auto rows_of = [&](std::string_view y, std::string_view z) {
    const auto tensor = [](std::string_view name, std::string_view data) {
      return fmt::format(R"({{"name":"{}","datatype":"FP32","shape":[{}],"data":[{}]}})", name,
                         std::count(data.begin(), data.end(), ',') + 1, data);
    };
    const std::string body = fmt::format(R"({{"inputs":[{},{},{}]}})", tensor("x", "1,2"),
                                         tensor("y", y), tensor("z", z));
    return parse_infer(model, body, std::nullopt, {}).rows;
  };
  EXPECT_EQ(rows_of("3,4", "5,6"), 2);
  EXPECT_THROW(rows_of("3", "5,6"), HttpError);
  EXPECT_THROW(rows_of("3", "5"), HttpError);
  EXPECT_THROW(rows_of("3,4", "5,6,7"), HttpError);
}

TEST(InferV2, AShapeAloneAllocatesNothing) {
  const Signature model{.name = "m", .inputs = {{"x", {Dtype::kF32, {1 << 20}}}}, .outputs = {}};
  const std::string body =
      R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1048576,1048576],"data":[]}]})";
  EXPECT_THROW(parse_infer(model, body, std::nullopt, {}), HttpError);
}

}  // namespace
}  // namespace limpid::serve
