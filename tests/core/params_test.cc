#include "limpid/core/params.h"

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "limpid/core/error.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

using Counts = Named<int>;

std::string name_of(int i) { return "layers." + std::to_string(i * 7919 % 10007); }

Counts counted(int size) {
  Counts counts;
  for (int i = 0; i < size; ++i) counts.set(name_of(i), i);
  return counts;
}

TEST(Named, KeepsItsOrderAndFindsItsEntriesHoweverManyThereAre) {
  for (const int size : {0, 1, 2, 511, 512, 513, 514, 2000}) {
    Counts counts = counted(size);
    const Counts before = counts;
    if (size > 0) counts.set(name_of(size / 2), -1);
    ASSERT_EQ(counts.size(), static_cast<std::size_t>(size));
    const std::vector<std::string> names = counts.names();
    for (int i = 0; i < size; ++i) {
      EXPECT_EQ(names[static_cast<std::size_t>(i)], name_of(i));
      EXPECT_EQ(counts.at(name_of(i)), i == size / 2 ? -1 : i);
      EXPECT_EQ(before.at(name_of(i)), i);
    }
    EXPECT_EQ(counts.find("layers.x"), nullptr);
    EXPECT_THROW((void)counts.at("layers.x"), Error);
  }
}

TEST(Named, ARepeatedNameHasItsFirstPlaceAndItsLastValue) {
  const Counts counts{{"b", 1}, {"a", 2}, {"b", 3}};
  EXPECT_EQ(counts.names(), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(counts.values(), (std::vector{3, 2}));
}

TEST(Named, IsWholeWhenItIsMovedOrPutTogether) {
  for (const int size : {3, 600}) {
    Counts counts = counted(size);
    Counts moved = std::move(counts);
    moved.set("more", 5);
    EXPECT_EQ(moved.at(name_of(size - 1)), size - 1);
    EXPECT_EQ(moved.at("more"), 5);
    counts = {{"a", 1}};
    EXPECT_EQ(counts.at("a"), 1);
    counts.merge("net", moved);
    EXPECT_EQ(counts.size(), static_cast<std::size_t>(size) + 2);
    EXPECT_EQ(counts.within("net").names(), moved.names());
    EXPECT_EQ(counts.within("net").at("more"), 5);
    Counts itself = moved;
    itself.merge("copy", itself);
    EXPECT_EQ(itself.size(), 2 * moved.size());
    EXPECT_EQ(itself.within("copy").names(), moved.names());
  }
}

TEST(Named, NamesAMissingEntryWithItsGroups) {
  const auto missing = [](const Counts& counts, std::string_view name) {
    expect_refused(ErrorCode::kNotFound, [&] { (void)counts.at(name); });
  };
  const Counts counts{{"net.layers.0.weight", 1}, {"net.layers.0.bias", 2}, {"net.scale", 3}};
  missing(counts, "bias");
  const Counts layer = counts.within("net").within("layers.0");
  missing(layer, "gamma");
  missing(counts.within("net").within("layers.1"), "weight");
  missing(layer.map([](int i) { return i + 1; }), "gamma");
  for (const int size : {12, 13}) missing(counted(size), "x");
}

TEST(Named, PartsAreChosenByWholeNames) {
  const Counts counts{{"layers.20.bias", 1}, {"layers.2.weight", 2}, {"layers.2.bias", 3},
                      {"layers.2", 4},       {"layers2", 5},         {"scale", 6}};
  using Names = std::vector<std::string>;
  EXPECT_EQ(counts.only({"scale", "layers.2"}).names(),
            (Names{"layers.2.weight", "layers.2.bias", "layers.2", "scale"}));
  EXPECT_EQ(counts.only({"layers.2", "layers.2.bias"}).size(), 3u);
  EXPECT_EQ(counts.only({"layers.20"}).at("layers.20.bias"), 1);
  EXPECT_EQ(counts.within("layers.2").names(), (Names{"weight", "bias"}));
  EXPECT_TRUE(counts.within("layer").empty());
  for (const char* none : {"layer", "layers.2.", "bias", "layers.2.bias.x"})
    expect_refused(ErrorCode::kNotFound, [&] { (void)counts.only({"scale", none}); });
  const Counts changed = counts.with({{"scale", 7}, {"more", 8}});
  EXPECT_EQ(changed.at("scale"), 7);
  EXPECT_EQ(changed.names().back(), "more");
  EXPECT_EQ(counts.at("scale"), 6);
}

TEST(Named, GroupsAreMappedTogetherIfTheirNamesAreTheSame) {
  const auto difference = [](int a, int b) { return a - b; };
  const Counts a{{"x", 5}, {"y", 7}}, b{{"y", 1}, {"x", 2}};
  EXPECT_EQ(map(difference, a, b).values(), (std::vector{3, 6}));
  for (const Counts& other : {Counts{{"x", 1}}, Counts{{"x", 1}, {"y", 1}, {"z", 1}},
                              Counts{{"x", 1}, {"z", 1}}, Counts{}}) {
    expect_refused(ErrorCode::kInvalidArgument, [&] { map(difference, a, other); });
    expect_refused(ErrorCode::kInvalidArgument, [&] { map(difference, other, a); });
  }
}

TEST(Params, AreStackedIfTheirTypesAreTheSame) {
  const Params first{{"w", Tensor::from<float>({2}, {1, 2})}};
  const Tensor both =
      stack(std::vector<Params>{first, {{"w", Tensor::from<float>({2}, {3, 4})}}}).at("w");
  EXPECT_TRUE(both.same_bits(Tensor::from<float>({2, 2}, {1, 2, 3, 4})));
  for (const Tensor& other : {Tensor::from<float>({3}, {3, 4, 5}), Tensor::from<float>({1}, {3}),
                              Tensor::from<double>({2}, {3, 4})})
    expect_refused(ErrorCode::kShape, [&] { stack(std::vector<Params>{first, {{"w", other}}}); });
  expect_refused(ErrorCode::kInvalidArgument, [&] {
    stack(std::vector<Params>{first, {{"v", first.at("w")}}});
  });
  // By their names, whatever their order.
  const Tensor one = Tensor::scalar(1.0F), two = Tensor::scalar(2.0F);
  const Params turned =
      stack(std::vector<Params>{{{"a", one}, {"b", two}}, {{"b", two}, {"a", one}}});
  EXPECT_TRUE(turned.at("a").same_bits(Tensor::from<float>({2}, {1, 1})));
  expect_refused(ErrorCode::kInvalidArgument, [] { stack(std::span<const Params>()); });
}

TEST(Errors, AreNamedByTheirCodes) {
  const std::pair<ErrorCode, const char*> names[] = {
      {ErrorCode::kInvalidArgument, "invalid argument"},
      {ErrorCode::kShape, "shape"},
      {ErrorCode::kDtype, "dtype"},
      {ErrorCode::kParse, "parse"},
      {ErrorCode::kFormat, "format"},
      {ErrorCode::kIo, "io"},
      {ErrorCode::kNotFound, "not found"},
      {ErrorCode::kUnsupported, "unsupported"},
      {ErrorCode::kNoGradient, "no gradient"},
      {ErrorCode::kNoMemory, "no memory"},
      {ErrorCode::kInternal, "internal"}};
  for (const auto& [code, text] : names) EXPECT_EQ(name(code), text);
}

}  // namespace
}  // namespace limpid
