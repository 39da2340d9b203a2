#include "limpid/serve/infer_v2.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/core/half.h"
#include "limpid/core/json.h"
#include "limpid/function/builder.h"
#include "limpid/inspect/bit_hashes.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/serve/check_answer.h"
#include "limpid/serve/http_error.h"
#include "limpid/serve/receipt.h"
#include "limpid/serve/replay.h"
#include "tests/refusals.h"

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

InferRequest asked(const Signature& model, std::string_view shape, std::string_view data,
                   const Limits& limits = {}) {
  const std::string body =
      fmt::format(R"({{"inputs":[{{"name":"x","datatype":"{}","shape":{},"data":{}}}]}})",
                  v2_name(model.inputs[0].type.dtype), shape, data);
  return parse_infer(model, body, std::nullopt, limits);
}

TEST(InferV2, NumbersBeyondTheirTypeAreRefused) {
  EXPECT_NO_THROW(asked(echo_of(Dtype::kBf16), "[1]", "[3.39e38]"));
  EXPECT_THROW(asked(echo_of(Dtype::kBf16), "[1]", "[3.4e38]"), HttpError);
  EXPECT_NO_THROW(asked(echo_of(Dtype::kF16), "[1]", "[65519]"));
  EXPECT_THROW(asked(echo_of(Dtype::kF16), "[1]", "[65520]"), HttpError);
}

TEST(InferV2, MoreNumbersThanTheShapeHasAreRefusedBeforeTheyAreStored) {
  const Signature model{.name = "m", .inputs = {{"x", {Dtype::kF32, {2}}}}, .outputs = {}};
  std::string many = "1";
  for (int i = 0; i < 100'000; ++i) many += ",1";
  for (const std::string& data : {"[[" + many + "]]", "[" + many + "]"}) {
    try {
      asked(model, "[2,2]", data);
      ADD_FAILURE();
    } catch (const HttpError& error) {
      expect_message(error.what());
    }
  }
}

TEST(InferV2, RowsAreLimitedAndCounted) {
  Signature model = echo_of(Dtype::kF32);
  model.outputs.push_back({"y", {Dtype::kI8, {3}}});
  EXPECT_EQ(asked(model, "[2]", "[1,2]", {.rows = 2}).output_bytes, 2u * (4 + 3));
  EXPECT_THROW(asked(model, "[2]", "[1,2]", {.rows = 1}), HttpError);
  EXPECT_NO_THROW(asked(model, "[2]", "[1,2]", {.answer = 14}));
  EXPECT_THROW(asked(model, "[2]", "[1,2]", {.answer = 13}), HttpError);
}

TEST(InferV2, AnAnswerSaysWhoseItIs) {
  Signature model = echo_of(Dtype::kF32);
  model.version = 3;
  model.hash = 7;
  model.outputs.push_back({"y", {Dtype::kF32, {}}});
  InferRequest request = all_wanted();
  request.id = "an id";
  const std::vector<Tensor> outputs{Tensor::from<float>({1}, {1}), Tensor::from<float>({1}, {2})};
  const Response response = infer_response(model, request, outputs, 9);
  const Json body = Json::parse(response.body);
  EXPECT_EQ(body.at("model_version").as_string(), "3");
  EXPECT_EQ(body.at("id").as_string(), request.id);
  for (const char* id : {"a\\b", "a\nb", "a\"b", "a\x7f"}) {
    request.id = id;
    EXPECT_EQ(Json::parse(infer_response(model, request, outputs, 9).body).at("id").as_string(),
              id);
  }
  // Of all outputs, wanted or not.
  EXPECT_EQ(body.at("outputs").size(), 1u);
  EXPECT_EQ(response.headers,
            (std::vector<Header>{
                {"Limpid-Receipt",
                 to_text({.model = 7, .input = 9, .output = hash_of_numbers(outputs)})}}));
}

TEST(InferV2, TheLengthOfTheJsonIsANumber) {
  Request request;
  EXPECT_FALSE(json_bytes_of(request));
  const auto of = [&](const std::string& text) {
    request.headers = {{"inference-header-content-length", text}};
    return json_bytes_of(request);
  };
  EXPECT_EQ(of("12"), 12u);
  for (const char* wrong : {"12x", "12 ", "", "-1", "+1", "99999999999999999999"})
    EXPECT_THROW(of(wrong), HttpError) << wrong;
}

// What `limpid receipt` says of an answer whose only output is `there`, where `here` is right.
std::string difference(const Tensor& here, const Tensor& there) {
  const Signature model = echo_of(here.dtype());
  Recomputed again{.signature = model, .outputs = {here}, .wanted = {{0, false}}, .receipt = {}};
  try {
    check_answer(
        again,
        infer_response(echo_of(there.dtype()), all_wanted(), std::vector<Tensor>{there}, 0).body,
        std::nullopt);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(CheckAnswer, NamesTheFirstDifferenceOfEveryType) {
  const auto differ = [](auto a, auto b) {
    using T = decltype(a);
    const auto two = [](T last) {
      return Tensor::generate<T>({2}, [&](auto out) { out[0] = T{}, out[1] = last; });
    };
    expect_message(difference(two(a), two(b)));
    EXPECT_EQ(difference(two(a), two(a)), "");
  };
  differ(1.5, -2.0);
  differ(2.5f, -2.0f);
  differ(to_bf16(3.5), to_bf16(-2.0));
  differ(to_f16(4.5), to_f16(-2.0));
  differ(std::int32_t{-7}, std::int32_t{8});
  differ(std::int64_t{-8}, std::int64_t{8});
  differ(std::int8_t{-9}, std::int8_t{8});
  differ(std::uint8_t{200}, std::uint8_t{8});
  differ(true, false);
}

TEST(CheckAnswer, HasTheRowsAndAnyNan) {
  const Tensor two = Tensor::from<float>({2}, {1, 2}), three = Tensor::from<float>({3}, {1, 2, 3});
  expect_message(difference(two, three));
  const Tensor nan = Tensor::from<float>({1}, {std::bit_cast<float>(std::uint32_t{0xffc00001})});
  EXPECT_EQ(difference(nan, Tensor::from<float>({1}, {std::nanf("")})), "");
  const Recomputed again{
      .signature = echo_of(Dtype::kF32), .outputs = {two}, .wanted = {{0, false}}, .receipt = {}};
  for (const char* odd : {"", "{", "[]", R"({"outputs":[{"name":"y"}]})"})
    expect_refused(ErrorCode::kFormat, [&] { check_answer(again, odd, std::nullopt); });
}

TEST(CheckText, NamesWhatAnAnswerLacks) {
  const Replayed again{
      .answer = Json::parse(R"({"choices":[{"text":"a"},{"text":"b","index":1}]})"), .receipt = {}};
  const auto said = [&](const char* choices) {
    try {
      check_text(again, Json{{"choices", Json::parse(choices)}});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(said(R"([{"text":"a"},{"text":"b","index":1,"more":2}])"), "");
  expect_message(said(R"([{"text":"a"},{"text":"b"}])"));
  expect_message(said(R"([{"text":"a"},{"text":"c","index":1}])"));
  EXPECT_TRUE(is_text_request(Json::parse(R"({"model":"m"})")));
  for (const char* other : {R"({"inputs":[],"model":"m"})", "{}", "[]", "1"})
    EXPECT_FALSE(is_text_request(Json::parse(other))) << other;
}

TEST(InferV2, ARefusalSaysWhatWasExpectedAndWhere) {
  const Signature model{.name = "m",
                        .inputs = {{"x", {Dtype::kF32, {2}}}, {"y", {Dtype::kI8, {}}}},
                        .outputs = {{"z", {Dtype::kF32, {2}}}}};
  const auto tensor = [](std::string_view name, std::string_view rest) {
    return fmt::format(R"({{"name":"{}",{}}})", name, rest);
  };
  const std::string x = tensor("x", R"("datatype":"FP32","shape":[2,2],"data":[1,2,3,4])");
  const std::string y = tensor("y", R"("datatype":"INT8","shape":[2],"data":[1,2])");
  const auto x_of = [&](std::string_view shape, std::string_view data) {
    return tensor("x", fmt::format(R"("datatype":"FP32","shape":{},"data":{})", shape, data));
  };
  const auto y_of = [&](std::string_view type, std::string_view shape, std::string_view data) {
    return tensor("y", fmt::format(R"("datatype":"{}","shape":{},"data":{})", type, shape, data));
  };
  const auto sized = [&](int size) {
    return tensor("x", fmt::format(R"("datatype":"FP32","shape":[2,2],"parameters":)"
                                   R"({{"binary_data_size":{}}})",
                                   size));
  };
  const auto said = [&](const std::string& first, const std::string& second,
                        const std::string& more = "", const std::string& bytes = "",
                        const Limits& limits = {}) {
    const std::string json = fmt::format(R"({{"inputs":[{},{}]{}}})", first, second, more);
    try {
      parse_infer(model, json + bytes, json.size(), limits);
    } catch (const HttpError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(said(x, y), "");
  for (const std::string& second : {y_of("FP64", "[2]", "[1,2]"), y_of("INT8", "[3]", "[1,2,3]"),
                                    y_of("INT8", "[2,1]", "[1,2]"), y_of("INT8", "[2]", "[1,300]"),
                                    x, tensor("w", "\"shape\":[]")})
    expect_message(said(x, second));
  for (const std::string& first :
       {x_of("[2,3]", "[]"), x_of("[2,2,0]", "[]"), x_of("[2,2]", "[[1,2],[3]]"),
        x_of("[2,2]", "[[1,2]]"), x_of("[2,2]", "1")})
    expect_message(said(first, y));
  expect_message(said(sized(12), y, "", std::string(12, 'a')));
  expect_message(said(sized(16), y, "", "abc"));
  expect_message(said(x, y, "", "abc"));
  expect_message(said(x, y, R"(,"outputs":[{"name":"z"},{"name":"z"}])"));
  expect_message(said(x, y, R"(,"parameters":{"binary_data_output":1})"));
  expect_message(said(x, y, "", "", {.rows = 1}));
  expect_message(said(x, y, "", "", {.answer = 15}));
  const auto of_body = [&](const std::string& body, std::optional<std::size_t> json_bytes) {
    try {
      parse_infer(model, body, json_bytes, {});
    } catch (const HttpError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  expect_message(of_body("\xef\xbb\xbf{}", {}));
  expect_message(of_body(fmt::format(R"({{"inputs":[{}]}})", x), {}));
  expect_message(of_body("{}", 3));
}

// The limit is that of a server.
TEST(CheckAnswer, ReadsRequestsAndAnswersOfAnyNumberOfRows) {
  const std::int64_t rows = Limits{}.rows + 1;
  const Model model{trace("f", {{"x", {Dtype::kF32, {}}}},
                          [](std::span<const Value> in) { return std::vector<Value>{-in[0]}; }),
                    {},
                    ""};
  const auto body = [&](const char* key, const char* name, float number) {
    const std::string json = fmt::format(
        R"({{"{}":[{{"name":"{}","datatype":"FP32","shape":[{}],"parameters":{{"binary_data_size":{}}}}}]}})",
        key, name, rows, 4 * rows);
    const Tensor data = Tensor::generate<float>(
        {rows}, [&](std::span<float> out) { std::ranges::fill(out, number); });
    const std::span<const std::byte> bytes = data.bytes();
    return std::pair(json + std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                     json.size());
  };
  const auto [request, request_json] = body("inputs", "x", 2);
  const Recomputed again = recompute(model, request, request_json);
  const auto [answer, answer_json] = body("outputs", "output", -2);
  EXPECT_NO_THROW(check_answer(again, answer, answer_json));
  const auto [other, other_json] = body("outputs", "output", -3);
  EXPECT_THROW(check_answer(again, other, other_json), Error);
}

TEST(InferV2, AShapeAloneAllocatesNothing) {
  const Signature model{.name = "m", .inputs = {{"x", {Dtype::kF32, {1 << 20}}}}, .outputs = {}};
  const std::string body =
      R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1048576,1048576],"data":[]}]})";
  EXPECT_THROW(parse_infer(model, body, std::nullopt, {}), HttpError);
}

}  // namespace
}  // namespace limpid::serve
