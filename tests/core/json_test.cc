// JSON: within its limits and one step beyond each, its values, what it writes, and its errors.
#include "limpid/core/json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

constexpr JsonLimits kLimits;

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

void expect_no_json(std::string_view text) {
  expect_refused(ErrorCode::kFormat, [&] { Json::parse(text); });
  EXPECT_FALSE(Json::try_parse(text));
}

// No error of syntax.
void expect_beyond(const std::string& text) {
  expect_refused(ErrorCode::kFormat, [&] { Json::parse(text); });
  expect_refused(ErrorCode::kFormat, [&] { Json::try_parse(text); });
}

TEST(Json, ReadsUpToItsLimits) {
  EXPECT_EQ(Json::parse(R"({"b": [1, {"b": 2}], "a": {"b": 3}})").dump(),
            R"({"b":[1,{"b":2}],"a":{"b":3}})");
  EXPECT_TRUE(Json::parse(nested(kLimits.depth)).is_array());
  EXPECT_EQ(Json::parse(members(kLimits.members)).size(), kLimits.members);
  EXPECT_EQ(Json::parse(values(kLimits.values)).size(), kLimits.values - 1);
  const std::string longest = '"' + std::string(kLimits.bytes - 2, ' ') + '"';
  EXPECT_EQ(Json::parse(longest).as_string().size(), kLimits.bytes - 2);
}

TEST(Json, RefusesWhatGoesBeyond) {
  expect_beyond('"' + std::string(kLimits.bytes - 1, ' ') + '"');
  expect_beyond(nested(kLimits.depth + 1));
  expect_beyond(repeat("[", 1'000'000));
  expect_beyond(repeat("{\"a\":", 1'000'000));
  expect_beyond(members(kLimits.members + 1));
  expect_beyond(values(kLimits.values + 1));
  expect_beyond("[" + repeat("[],", kLimits.values) + "0]");
}

TEST(Json, RefusesAKeyThatComesTwice) {
  expect_beyond(R"({"a": 1, "b": 2, "a": 1})");
  expect_beyond(R"({"a": 1, "\u0061": 1})");
  expect_beyond(R"([{"out": {"in": [], "in": {}}}])");
}

TEST(Json, SaysWhatIsNoJson) {
  for (const std::string_view text :
       {"", "{", "[1,]", "nul", "{\"a\"}", "\"\xff\"", "1 2", "[1e999]", "01", "NaN", "'a'"})
    expect_no_json(text);
  for (const std::string_view text : {"[1, NaN]", "[-NaN]", "[nan]", "[Infinity]", "[-inf]"})
    expect_no_json(text);
  expect_no_json("\"\x7f\n\"");
  expect_no_json({"{}\0{", 4});  // nothing after a zero byte is skipped
}

// ---------------------------------------------------------------------------------------------
// Writing
// ---------------------------------------------------------------------------------------------

TEST(Json, WritesWhatItReads) {
  for (const char* text : {"null",
                           "true",
                           "false",
                           "0",
                           "-1",
                           "9223372036854775807",
                           "18446744073709551615",
                           "-9223372036854775808",
                           "0.1",
                           "-0.0",
                           "1.0",
                           "1e-07",
                           "0.0001",
                           "123456789012345.0",
                           "1e+16",
                           "5e-324",
                           "1.7976931348623157e+308",
                           "\"\"",
                           "[]",
                           "{}",
                           "[[],{}]",
                           "{\"b\":1,\"a\":[2,null]}",
                           "{\"a\\u0000b\":1}",
                           "\"\\b\\f\\n\\r\\t\\u0000\\u001f\\\"\\\\/\"",
                           "\"caf\u00e9\""})
    EXPECT_EQ(Json::parse(text).dump(), text);
  EXPECT_EQ(Json::parse("1E2").dump(), "100.0");
  EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).dump(), "null");
  EXPECT_EQ(Json(0.1F).dump(), "0.10000000149011612");
}

TEST(Json, WritesOneValueALine) {
  const Json json{{"a", std::vector{1, 2}}, {"b", Json::object()}, {"c", Json{{"d", "e"}}}};
  EXPECT_EQ(
      json.dump({.indent = 2}),
      "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {},\n  \"c\": {\n    \"d\": \"e\"\n  }\n}");
}

TEST(Json, WritesUtf8OrAsciiAndReplacesOrRefusesTheRest) {
  const Json text = "a\u00e9\U0001f600\x7f";
  EXPECT_EQ(text.dump(), "\"a\u00e9\U0001f600\x7f\"");
  EXPECT_EQ(text.dump({.ascii = true}), R"("a\u00e9\ud83d\ude00\u007f")");
  EXPECT_EQ(Json("\x7f").dump({.ascii = true}), R"("\u007f")");
  const Json broken{{"k\xff", "\xc3"}};
  EXPECT_EQ(broken.dump({.replace_invalid = true}), "{\"k\ufffd\":\"\ufffd\"}");
  expect_refused(ErrorCode::kInvalidArgument, [&] { (void)broken.dump(); });
}

// ---------------------------------------------------------------------------------------------
// Values and their errors
// ---------------------------------------------------------------------------------------------

TEST(Json, IsChangedByKeyAndPlace) {
  Json json;
  json["b"]["c"] = 1;
  json["a"].push_back("x");
  json["a"].push_back(nullptr);
  json["a"][1] = 2.5;
  json.update(Json{{"b", false}, {"d", 3U}});
  EXPECT_EQ(json.dump(), R"({"b":false,"a":["x",2.5],"d":3})");
  EXPECT_EQ(json["a"].at(1).as_number(), 2.5);
  expect_refused(ErrorCode::kFormat, [&] { (void)json["a"].at(2); });
  EXPECT_EQ(json.size(), 3U);
  EXPECT_EQ(Json("abc").size(), 0U);
  json.erase("a");
  EXPECT_EQ(json, (Json{{"b", false}, {"d", 3}}));
  EXPECT_FALSE(json.contains("a"));
  EXPECT_EQ(Json("x").find("a"), nullptr);
  EXPECT_THROW(json.push_back(1), Error);
  EXPECT_THROW(json[0], Error);
}

TEST(Json, HoldsEveryInteger) {
  EXPECT_EQ(Json::parse("18446744073709551615").as_unsigned(),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(Json(std::uint64_t{7}).as_integer(), 7);
  EXPECT_EQ(Json(7).as_unsigned(), 7U);
  EXPECT_EQ(Json(0).as_unsigned(), 0U);
  EXPECT_EQ(Json(7).as_number(), 7.0);
  EXPECT_EQ(Json(std::numeric_limits<std::uint64_t>::max()).as_number(), 18446744073709551616.0);
  expect_refused(ErrorCode::kFormat,
                 [] { (void)Json(std::numeric_limits<std::uint64_t>::max()).as_integer(); });
  expect_refused(ErrorCode::kFormat, [] { (void)Json(-1).as_unsigned(); });
}

TEST(JsonView, NamesThePathOfWhatIsWrong) {
  const Json json =
      Json::parse(R"({"mlp": {"sizes": [3, 0.5, 18446744073709551615], "name": 1, "a\u0007b": "x",)"
                  R"("tags": ["x", 1]}})");
  const JsonView mlp = JsonView(json, "config").at("mlp");
  const auto refused = [](const auto& code) { expect_refused(ErrorCode::kFormat, code); };
  EXPECT_EQ(mlp.at("sizes").at(0).as_integer(3, 3), 3);
  EXPECT_EQ(mlp.at("sizes").at(0).as_number(), 3.0);
  EXPECT_EQ(mlp.at("sizes").at(2).as_number(), 18446744073709551616.0);
  refused([&] { (void)mlp.at("sizes").at(0).as_integer(4, 5); });
  refused([&] { (void)mlp.at("sizes").at(0).as_integer(1, 2); });
  refused([&] { (void)mlp.at("sizes").elements()[1].as_integer(); });
  refused([&] { (void)mlp.at("sizes").at(2).as_integer(); });
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  refused([&] { (void)mlp.at("sizes").at(0).as_integer(kLowest, 2); });
  refused([&] { (void)mlp.at("sizes").at(3); });
  refused([&] { (void)mlp.at("sizes").at(0).as_integer(4); });
  refused([&] { (void)mlp.at("name").at(0); });
  refused([&] { (void)mlp.at("sizes").as_strings(); });
  refused([&] { (void)mlp.at("tags").as_strings(); });
  refused([&] { (void)mlp.at("name").as_strings(); });
  refused([&] { (void)mlp.at("name").as_bool(); });
  refused([&] { (void)mlp.at("name").find("x"); });
  refused([&] { (void)mlp.at("name").members(); });
  refused([&] { (void)mlp.at("norm"); });
  // A message is one line, whatever the document holds.
  refused([&] { (void)mlp.members()[2].second.as_number(); });
  EXPECT_FALSE(mlp.find("norm"));
  // A document without a name has no path, and its members have their own alone.
  refused([&] { (void)JsonView(json).as_bool(); });
  refused([&] { (void)JsonView(json).at("mlp").at("name").as_bool(); });
}

TEST(Json, IsShortInAMessage) {
  const std::string text = brief(std::string(1000, 'x') + "\n");
  EXPECT_EQ(text, '"' + std::string(59, 'x') + "...");
  EXPECT_EQ(brief("\xff\n"), "\"\\ufffd\\n\"");
  EXPECT_EQ(brief(std::string(58, 'x')), '"' + std::string(58, 'x') + '"');
}

}  // namespace
}  // namespace limpid
