#include "limpid/view/numbers.h"
#include "limpid/core/base64.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>

#include "limpid/core/error.h"
#include "limpid/core/half.h"
#include "limpid/core/key.h"

namespace limpid::view {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(ViewNumbers, DigitsReadBackAsTheSameNumber) {
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const float x = std::bit_cast<float>(Key(3).word(i));
    if (!std::isfinite(x)) continue;
    const std::string text = number_json(static_cast<double>(x), Dtype::kF32).dump();
    EXPECT_EQ(std::strtof(text.c_str(), nullptr), x) << text;
  }
  EXPECT_EQ(number_json(static_cast<double>(0.1f), Dtype::kF32).dump(), "0.1");
  EXPECT_EQ(number_json(0.1).dump(), "0.1");
  EXPECT_EQ(number_json(0.10009765625, Dtype::kBf16).dump(), "0.1");
  EXPECT_EQ(number_json(0.0999755859375, Dtype::kF16).dump(), "0.1");
  EXPECT_EQ(number_json(65280, Dtype::kBf16).dump(), "65300.0");
  EXPECT_EQ(number_json(std::nan("")).dump(), "\"nan\"");
  EXPECT_EQ(number_json(-kInf).dump(), "\"-inf\"");
}

TEST(ViewNumbers, WordsAreNumbersToo) {
  const Json json = Json::parse(R"(["nan", "inf", "-inf", 1.5, "1.5", null])");
  EXPECT_TRUE(std::isnan(number_from_json(json.at(0))));
  EXPECT_EQ(number_from_json(json.at(1)), kInf);
  EXPECT_EQ(number_from_json(json.at(2)), -kInf);
  EXPECT_EQ(number_from_json(json.at(3)), 1.5);
  EXPECT_THROW(number_from_json(json.at(4)), Error);
  EXPECT_THROW(number_from_json(json.at(5)), Error);
}

TEST(ViewNumbers, BitsOfEveryDtype) {
  EXPECT_EQ(hex_of(exact_at(Tensor::from<float>({2}, {0, 1}), 1)), "3f800000");
  EXPECT_EQ(hex_of(exact_at(Tensor::from<double>({1}, {-2.0}), 0)), "c000000000000000");
  EXPECT_EQ(hex_of(exact_at(Tensor::from<Bf16>({1}, {to_bf16(1.0f)}), 0)), "3f80");
  EXPECT_EQ(hex_of(exact_at(Tensor::from<F16>({1}, {to_f16(1.0f)}), 0)), "3c00");
  EXPECT_EQ(hex_of(exact_at(Tensor::from<std::int32_t>({1}, {-1}), 0)), "ffffffff");
  EXPECT_EQ(hex_of(exact_at(Tensor::from<std::int8_t>({1}, {-1}), 0)), "ff");
  EXPECT_EQ(hex_of(exact_at(Tensor::from<bool>({1}, {true}), 0)), "01");
  EXPECT_EQ(hex_of(exact_at(Tensor::from<std::int64_t>({1}, {-2}), 0)), "fffffffffffffffe");
  EXPECT_EQ(exact_at(Tensor::from<std::int64_t>({2}, {0, -2}), 1).value, -2);
  EXPECT_EQ(hex_of(exact_at(Tensor::from<std::uint8_t>({1}, {200}), 0)), "c8");
  EXPECT_EQ(exact_at(Tensor::from<std::uint8_t>({1}, {200}), 0).value, 200);
  EXPECT_EQ(exact_at(Tensor::from<Bf16>({1}, {to_bf16(1.5f)}), 0).value, 1.5);
  EXPECT_EQ(exact_at(Tensor::from<F16>({1}, {to_f16(1.5f)}), 0).value, 1.5);
  EXPECT_EQ(hex_of(exact_of(1, Dtype::kF32)), "3f800000");
  EXPECT_EQ(hex_of(exact_of(1.5, Dtype::kBf16)), "3fc0");
  EXPECT_EQ(hex_of(exact_of(1.5, Dtype::kF16)), "3e00");
  EXPECT_EQ(hex_of(exact_of(-1, Dtype::kI8)), "ff");
  EXPECT_THROW(exact_at(Tensor::from<float>({1}, {0}), 1), Error);
  EXPECT_THROW(exact_at(Tensor::from<float>({1}, {0}), -1), Error);
  const Values values = values_of(Tensor::from<float>({2}, {1, -2}), {}, 2);
  EXPECT_EQ(to_json(values, from_name<Encoding>("hex")).at("hex").dump(),
            R"(["3f800000","c0000000"])");
  EXPECT_EQ(to_json(values, from_name<Encoding>("numbers")).at("values").dump(), "[1.0,-2.0]");
  EXPECT_EQ(to_json(values, from_name<Encoding>("base64")).at("base64").as_string(),
            "AACAPwAAAMA=");
}

TEST(ViewNumbers, EachStatisticHasItsName) {
  const Tensor x = Tensor::from<double>({8}, {-3, 0, 0, 1, 6, kInf, -kInf, std::nan("")});
  const Json said = to_json(statistics(x));
  EXPECT_EQ(said.at("count").as_integer(), 8);
  EXPECT_EQ(said.at("nans").as_integer(), 1);
  EXPECT_EQ(said.at("infs").as_integer(), 2);
  EXPECT_EQ(said.at("zero_share").as_number(), 0.25);
  const Json finite = to_json(statistics(Tensor::from<double>({4}, {-3, 0, 0, 5})));
  EXPECT_EQ(finite.at("min").as_number(), -3);
  EXPECT_EQ(finite.at("max").as_number(), 5);
  EXPECT_EQ(finite.at("mean").as_number(), 0.5);
  EXPECT_NEAR(finite.at("std").as_number(), std::sqrt(33.0 / 4), 1e-12);
}

TEST(ViewNumbers, HistogramCountsEveryFiniteElementOnce) {
  const Tensor x = Tensor::generate<float>({1000}, [](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = Key(1).uniform(i) - 0.5f;
    out[7] = std::numeric_limits<float>::quiet_NaN();
    out[8] = std::numeric_limits<float>::infinity();
  });
  const Histogram h = histogram(x, 13);
  ASSERT_EQ(h.edges.size(), 14u);
  EXPECT_EQ(std::accumulate(h.counts.begin(), h.counts.end(), std::int64_t{0}), 998);
  for (std::size_t bin = 0; bin < 13; ++bin) {
    std::int64_t count = 0;
    for (const float v : x.values<float>()) {
      const double d = static_cast<double>(v);
      count += d >= h.edges[bin] && (bin == 12 ? d <= h.edges[13] : d < h.edges[bin + 1]);
    }
    EXPECT_EQ(h.counts[bin], count) << bin;
  }
}

// The quotient that tells the bin is rounded, to below an edge and to above one.
TEST(ViewNumbers, AnEdgeOfAHistogramBeginsItsBin) {
  const auto bin_of = [](double least, double most, std::int64_t bins, double x) {
    const Histogram h = histogram(Tensor::from<double>({3}, {least, most, x}), bins);
    for (std::size_t bin = 0; bin < h.counts.size(); ++bin)
      if (x >= h.edges[bin] && x < h.edges[bin + 1]) return std::pair(bin, h.counts[bin]);
    return std::pair(std::size_t{0}, std::int64_t{0});
  };
  EXPECT_EQ(bin_of(-2.2, 1.5, 29, -0.9241379310344829), std::pair(std::size_t{9}, std::int64_t{1}));
  EXPECT_EQ(bin_of(-1.4, -0.5999999999999999, 17, -1.2588235294117647),
            std::pair(std::size_t{3}, std::int64_t{1}));
}

TEST(ViewNumbers, HistogramOfFewNumbers) {
  EXPECT_TRUE(histogram(Tensor::from<float>({0}, {}), 10).counts.empty());
  const Histogram one = histogram(Tensor::from<float>({3}, {2, 2, 2}), 10);
  EXPECT_EQ(one.counts, std::vector<std::int64_t>{3});
  const float most = std::numeric_limits<float>::max();
  const Histogram wide = histogram(Tensor::from<float>({2}, {-most, most}), 4);
  EXPECT_EQ(wide.counts, (std::vector<std::int64_t>{1, 0, 0, 1}));
  const double huge = std::numeric_limits<double>::max();
  EXPECT_EQ(histogram(Tensor::from<double>({2}, {-huge, huge}), 2).counts,
            (std::vector<std::int64_t>{1, 1}));
  EXPECT_THROW(histogram(Tensor::from<float>({1}, {0}), 0), Error);
  EXPECT_EQ(histogram(Tensor::from<float>({2}, {0, 1}), 4096).counts.size(), 4096u);
  EXPECT_THROW(histogram(Tensor::from<float>({2}, {0, 1}), 4097), Error);
}

TEST(ViewNumbers, BoxIsThatPartOfTheTensor) {
  const Tensor x = Tensor::generate<std::int32_t>(
      {3, 4, 5}, [](std::span<std::int32_t> out) { std::iota(out.begin(), out.end(), 0); });
  const Values v = values_of(x, Box{{1, 2, 1}, {2, 1, 3}}, 100);
  EXPECT_TRUE(v.complete);
  EXPECT_TRUE(v.elements.same_bits(Tensor::from<std::int32_t>({6}, {31, 32, 33, 51, 52, 53})));
  const Values all = values_of(x, {}, 60);
  EXPECT_TRUE(all.complete);
  EXPECT_EQ(all.elements.elements(), 60);
  const Values cut = values_of(x, {}, 41);
  EXPECT_FALSE(cut.complete);
  EXPECT_EQ(cut.box.count, (std::vector<std::int64_t>{2, 4, 5}));
  EXPECT_EQ(cut.elements.values<std::int32_t>()[39], 39);
  const Values few = values_of(x, {}, 7);
  EXPECT_EQ(few.box.count, (std::vector<std::int64_t>{1, 1, 5}));
  EXPECT_LE(values_of(x, {}, 3).elements.elements(), 3);
  const Values none = values_of(x, {}, 0);
  EXPECT_FALSE(none.complete);
  EXPECT_EQ(none.elements.elements(), 0);
  EXPECT_TRUE(values_of(x, Box{{3, 0, 0}, {0, 4, 5}}, 0).complete);
  const Values scalar = values_of(Tensor::scalar(2.0f), {}, 1);
  EXPECT_EQ(to_json(scalar).at("values").dump(), "[2.0]");
  for (const Box& wrong :
       {Box{{0, 0}, {1, 1}}, Box{{0, 0, 0}, {4, 1, 1}}, Box{{-1, 0, 0}, {1, 1, 1}},
        Box{{0, 0, 0}, {1, 1}}, Box{{0, 0, 0, 0}, {1, 1, 1}}, Box{{}, {1, 1, 1}},
        Box{{0, 0, 0}, {-1, -1, 1}}, Box{{0, 5, 0}, {1, 0, 1}},
        Box{{3, 0, 0}, {std::numeric_limits<std::int64_t>::max(), 1, 1}}})
    EXPECT_THROW(values_of(x, wrong, 10), Error);
}

TEST(ViewNumbers, Base64IsThatOfTheStandard) {
  const auto of = [](std::string_view text) { return base64(std::as_bytes(std::span(text))); };
  EXPECT_EQ(of(""), "");
  EXPECT_EQ(of("f"), "Zg==");
  EXPECT_EQ(of("fo"), "Zm8=");
  EXPECT_EQ(of("foobar"), "Zm9vYmFy");
  EXPECT_EQ(to_json(values_of(Tensor::from<float>({1}, {1}), {}, 1), Encoding::kBase64)
                .at("base64")
                .as_string(),
            "AACAPw==");
}

}  // namespace
}  // namespace limpid::view
