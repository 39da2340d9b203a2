// JSON within its limits, and one step beyond each of them.
#include "limpid/formats/detail/bounded_json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/formats/helpers.h"

namespace limpid::detail {
namespace {

constexpr JsonLimits kLimits;

using testing::expect_error;

std::string repeat(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

std::string nested(std::size_t depth) { return repeat("[", depth) + repeat("]", depth); }

// {"k0": 0, "k1": 0, ...}
std::string members(std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += fmt::format("{}\"k{}\": 0", i == 0 ? "" : ", ", i);
  return "{" + all + "}";
}

std::string values(std::size_t count) { return "[" + repeat("0,", count - 2) + "0]"; }

void expect_refused(std::string_view part, const std::string& text) {
  expect_error(ErrorCode::kFormat, part, [&] { parse_bounded_json(text); });
  // It is no matter of syntax.
  expect_error(ErrorCode::kFormat, part, [&] { parse_bounded_json(text, false); });
}

TEST(BoundedJson, ReadsUpToItsLimits) {
  EXPECT_EQ(parse_bounded_json(R"({"b": [1, {"b": 2}], "a": {"b": 3}})").dump(),
            R"({"b":[1,{"b":2}],"a":{"b":3}})");
  EXPECT_TRUE(parse_bounded_json(nested(kLimits.depth)).is_array());
  EXPECT_EQ(parse_bounded_json(members(kLimits.members)).size(), kLimits.members);
  EXPECT_EQ(parse_bounded_json(values(kLimits.values)).size(), kLimits.values - 1);
}

TEST(BoundedJson, RefusesWhatGoesBeyond) {
  expect_refused("at most 12582912 are expected", '"' + std::string(kLimits.bytes, ' ') + '"');
  expect_refused("nested too deeply", nested(kLimits.depth + 1));
  expect_refused("nested too deeply", repeat("[", 1'000'000));
  expect_refused("nested too deeply", repeat("{\"a\":", 1'000'000));
  expect_refused("more than 1024 members", members(kLimits.members + 1));
  expect_refused("more than 500000 values", values(kLimits.values + 1));
  expect_refused("more than 500000 values", "[" + repeat("[],", kLimits.values) + "0]");
}

TEST(BoundedJson, RefusesAKeyThatComesTwice) {
  expect_refused("the key 'a' comes twice", R"({"a": 1, "b": 2, "a": 1})");
  expect_refused("the key 'a' comes twice", R"({"a": 1, "\u0061": 1})");
  expect_refused("the key 'in' comes twice", R"([{"out": {"in": [], "in": {}}}])");
}

TEST(BoundedJson, SaysWhatIsNoJson) {
  for (const char* text : {"", "{", "[1,]", "nul", "{\"a\"}", "\"\xff\""}) {
    EXPECT_THROW(parse_bounded_json(text), nlohmann::json::exception) << text;
    EXPECT_TRUE(parse_bounded_json(text, false).is_discarded()) << text;
  }
}

}  // namespace
}  // namespace limpid::detail
