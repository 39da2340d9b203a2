// Inputs whose memory becomes an output's.
#include <gtest/gtest.h>

#include "limpid/limpid.h"

namespace limpid {
namespace {

const Type kCache{Dtype::kF32, {2, 5, 3}}, kRows{Dtype::kF32, {2, 2, 3}},
    kPosition{Dtype::kI32, {}};

// The cache with rows in it, and the results of `more` on the cache before and after.
Function updating(const std::function<std::vector<Value>(Value before, Value after)>& more) {
  return trace("updating", {{"cache", kCache}, {"rows", kRows}, {"position", kPosition}},
               [&](std::span<const Value> in) {
                 const Value after = update_rows(in[0], in[1], in[2], 1);
                 std::vector<Value> out = more(in[0], after);
                 out.insert(out.begin(), after);
                 return out;
               });
}

CompileOptions giving(CompileOptions::Donation donation) {
  CompileOptions options;
  options.donations = {donation};
  return options;
}

Tensor counted(const Type& type) {
  return Tensor::generate<float>(type.shape, [](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(i);
  });
}

TEST(Donation, WritesTheRowsAlone) {
  const Function f = updating([](Value, Value after) { return std::vector<Value>{sum(after)}; });
  const Tensor cache = counted(kCache), rows = Tensor::zeros(kRows);
  for (const std::int32_t position : {-3, -1, 0, 2, 4, 5, 1 << 30}) {
    const std::vector<Tensor> want =
        interpret(f, std::vector<Tensor>{cache, rows, Tensor::scalar(position)});
    Workspace workspace(compile(f, giving({0, 0})));
    std::vector<float> memory(cache.values<float>().begin(), cache.values<float>().end());
    float total = 0;
    const void* const in[] = {memory.data(), rows.bytes().data(), &position};
    void* const out[] = {memory.data(), &total};
    workspace.run(in, out);
    EXPECT_TRUE(Tensor::from<float>(kCache.shape, memory).same_bits(want[0])) << position;
    EXPECT_EQ(total, want[1].values<float>()[0]) << position;
    // Without a donation the cache stays unchanged.
    EXPECT_TRUE(compile(f)(std::vector<Tensor>{cache, rows, Tensor::scalar(position)})[0].same_bits(
        want[0]));
  }
}

TEST(Donation, IsRefusedWhereTheOldValueIsReadLater) {
  const auto refuses = [](const Function& f, CompileOptions::Donation donation) {
    EXPECT_THROW(compile(f, giving(donation)), Error);
  };
  const auto nothing = [](Value, Value) { return std::vector<Value>{}; };
  refuses(updating([](Value before, Value after) { return std::vector<Value>{after - before}; }),
          {0, 0});
  refuses(updating([](Value before, Value after) {
            return std::vector<Value>{matmul(after, before, false, true)};
          }),
          {0, 0});
  // Rows of the cache itself, which move over each other.
  refuses(trace("shifted", {{"cache", kCache}, {"position", kPosition}},
                [](std::span<const Value> in) {
                  return std::vector<Value>{update_rows(in[0], in[0], in[1], 1)};
                }),
          {0, 0});
  refuses(updating(nothing), {1, 0});  // of another type
  refuses(updating(nothing), {3, 0});
  refuses(updating(nothing), {0, 1});
  EXPECT_NO_THROW(compile(
      updating([](Value before, Value) { return std::vector<Value>{reshape(sum(before), {1})}; })));
}

TEST(Donation, SaysWhyItIsRefused) {
  const Type row{Dtype::kF32, {4}};
  const Function f =
      trace("f", {{"x", row}, {"cache", kCache}, {"rows", kRows}, {"position", kPosition}},
            [](std::span<const Value> in) {
              const Value after = update_rows(in[1], in[2], in[3], 1);
              return std::vector<Value>{in[0] * 2.0, after, after - in[1]};
            });
  const auto refused = [&](const std::vector<CompileOptions::Donation>& donations) -> std::string {
    CompileOptions options;
    options.donations = donations;
    try {
      compile(f, options);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument);
      return e.what();
    }
    return "";
  };
  const std::string of = "compile of 'f': input ";
  EXPECT_EQ(refused({{4, 1}}),
            of + "4 cannot be donated to output 1: there are 4 inputs and 3 outputs");
  EXPECT_EQ(refused({{1, 3}}),
            of + "1 cannot be donated to output 3: there are 4 inputs and 3 outputs");
  EXPECT_EQ(refused({{0, 1}}),
            of + "0 cannot be donated to output 1: their types differ, f32[4] and f32[2, 5, 3]");
  const std::string read =
      of +
      "1 cannot be donated to output 1: 'cache' is read after the output may have been written";
  EXPECT_EQ(refused({{1, 1}}), read);
}

TEST(Donation, OfOneInputIsToOneOutput) {
  const Function f = trace("f", {{"cache", kCache}, {"rows", kRows}, {"position", kPosition}},
                           [](std::span<const Value> in) {
                             return std::vector<Value>{update_rows(in[0], in[1], in[2], 1)};
                           });
  CompileOptions options;
  options.donations = {{0, 0}};
  EXPECT_NO_THROW(compile(f, options));
  options.donations = {{0, 0}, {0, 0}};
  try {
    compile(f, options);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument);
    EXPECT_STREQ(e.what(), "compile of 'f': input 0 to output 0: each may be in one donation");
  }
}

TEST(Donation, OfAnInputThatIsGivenBack) {
  const Function f = trace("same", {{"x", kRows}}, [](std::span<const Value> in) {
    return std::vector<Value>{in[0], sum(in[0])};
  });
  Workspace workspace(compile(f, giving({0, 0})));
  const Tensor x = counted(kRows);
  std::vector<float> memory(x.values<float>().begin(), x.values<float>().end());
  float total = 0;
  const void* const in[] = {memory.data()};
  void* const out[] = {memory.data(), &total};
  workspace.run(in, out);
  EXPECT_TRUE(Tensor::from<float>(kRows.shape, memory).same_bits(x));
  EXPECT_EQ(total, interpret(f, {&x, 1})[1].values<float>()[0]);
}

// Of several inputs and outputs, it is about those.
TEST(Donation, IsOfTheInputAndTheOutputNamed) {
  const Type row{Dtype::kF32, {4}}, cell{Dtype::kF32, {1}};
  const Function f = trace("f", {{"x", row}, {"y", row}, {"cell", cell}, {"position", kPosition}},
                           [](std::span<const Value> in) {
                             const Value x = update_rows(in[0], in[2], in[3], 0);
                             const Value y = update_rows(in[1], in[2], in[3], 0);
                             return std::vector<Value>{x, y, sum(y - in[1])};
                           });
  EXPECT_NO_THROW(compile(f, giving({0, 0})));
  EXPECT_THROW(compile(f, giving({1, 1})), Error);
  CompileOptions both;
  both.donations = {{0, 0}, {1, 1}};
  EXPECT_THROW(compile(f, both), Error);
}

// 400 rows go through a product and the steps after it in blocks.
TEST(Donation, IsRefusedWhereEveryBlockOfRowsReadsTheWholeInput) {
  const Type row{Dtype::kF32, {400}};
  const Function f =
      bind(trace("by_rows",
                 {{"x", {Dtype::kF32, {400, 8}}},
                  {"w", {Dtype::kF32, {400, 8}}},
                  {"bias", row},
                  {"other", row}},
                 [](std::span<const Value> in) {
                   return std::vector<Value>{linear(in[0], in[1], in[2]), tanh(in[3])};
                 }),
           {{"w", counted({Dtype::kF32, {400, 8}})}});
  EXPECT_NE(compile(f).plan().find("2 steps for 400 rows"), std::string::npos);
  EXPECT_THROW(compile(f, giving({1, 1})), Error);
  const Function g = trace("by_lanes", {{"x", {Dtype::kF32, {400, 400}}}, {"y", row}, {"z", row}},
                           [](std::span<const Value> in) {
                             return std::vector<Value>{softmax(in[0], 1) + in[1], tanh(in[2])};
                           });
  EXPECT_NE(compile(g).plan().find("2 steps for 400 rows"), std::string::npos);
  EXPECT_THROW(compile(g, giving({1, 1})), Error);
}

TEST(Donation, OfRowsThatAreReadBeforeTheyAreWritten) {
  const Type type{Dtype::kF32, {400, 400}};
  const Function f = trace("by_rows", {{"x", type}, {"y", type}}, [](std::span<const Value> in) {
    return std::vector<Value>{max(softmax(in[0], 1), 1), tanh(in[1])};
  });
  const Tensor x = counted(type), y = counted(type);
  const std::vector<Tensor> want = interpret(f, std::vector<Tensor>{x, y});
  ThreadPool pool({.threads = 3});
  for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
    Workspace workspace(compile(f, giving({0, 1})), threads);
    std::vector<float> memory(x.values<float>().begin(), x.values<float>().end()), highest(400);
    const void* const in[] = {memory.data(), y.bytes().data()};
    void* const out[] = {highest.data(), memory.data()};
    workspace.run(in, out);
    EXPECT_TRUE(Tensor::from<float>({400}, highest).same_bits(want[0]));
    EXPECT_TRUE(Tensor::from<float>({400, 400}, memory).same_bits(want[1]));
  }
}

}  // namespace
}  // namespace limpid
