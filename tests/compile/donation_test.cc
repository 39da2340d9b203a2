// Inputs whose memory becomes an output's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

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

// With input `i` given to output `o`, the results of the interpreter; the plan.
std::string plan_of_given(const Function& f, std::size_t i, std::size_t o) {
  std::vector<Tensor> inputs;
  for (const Input& input : f.inputs())
    inputs.push_back(input.type.dtype == Dtype::kF32 ? counted(input.type)
                                                     : Tensor::zeros(input.type));
  const std::vector<Tensor> want = interpret(f, inputs);
  const Executable executable = compile(f, giving({i, o}));
  std::vector<std::vector<std::byte>> memory;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Tensor& t : want) out.push_back(memory.emplace_back(t.bytes().size()).data());
  for (const Tensor& t : inputs) in.push_back(t.bytes().data());
  std::memcpy(out[o], in[i], want[o].bytes().size());
  in[i] = out[o];
  Workspace(executable).run(in, out);
  for (std::size_t r = 0; r < want.size(); ++r)
    EXPECT_TRUE(std::ranges::equal(want[r].bytes(), memory[r])) << r << "\n" << executable.plan();
  return executable.plan();
}

constexpr std::string_view kCopy = " = copy ";

TEST(Donation, IsCopiedWhereTheOldValueIsReadLater) {
  const auto copies = [](const Function& f) {
    EXPECT_NE(plan_of_given(f, 0, 0).find(kCopy), std::string::npos);
  };
  copies(updating([](Value before, Value after) { return std::vector<Value>{after - before}; }));
  copies(updating([](Value before, Value after) {
    return std::vector<Value>{matmul(after, before, false, true)};
  }));
  // Rows of the cache itself, which move over each other.
  copies(
      trace("shifted", {{"cache", kCache}, {"position", kPosition}}, [](std::span<const Value> in) {
        return std::vector<Value>{update_rows(in[0], in[0], in[1], 1)};
      }));
}

TEST(Donation, OfStepsElementByElementIsInPlace) {
  const Type rows{Dtype::kF32, {40, 3}};
  // x is read after the instruction that makes the first result.
  const Function sums = trace("sums", {{"x", rows}, {"y", rows}}, [](std::span<const Value> in) {
    const Value s = in[0] + in[1];
    return std::vector<Value>{s, exp(s) - in[0]};
  });
  const Function step = trace("step", {{"w", rows}, {"g", rows}}, [](std::span<const Value> in) {
    return std::vector<Value>{in[0] - 0.1 * in[1]};
  });
  for (const auto& [f, o] : {std::pair{sums, 0}, {sums, 1}, {step, 0}})
    EXPECT_EQ(plan_of_given(f, 0, static_cast<std::size_t>(o)).find(kCopy), std::string::npos);
}

TEST(Donation, OfAdamsStateIsInPlace) {
  const Type w{Dtype::kF32, {40, 3}};
  const optim::Adam adam;
  const std::vector<Input> state = optim::state_inputs(adam, std::vector<Input>{{"w", w}});
  std::vector<Input> inputs{{"w", w}, {"g", w}};
  inputs.insert(inputs.end(), state.begin(), state.end());
  const Function f = trace("adam", inputs, [&](std::span<const Value> in) {
    Args moments;
    for (std::size_t i = 0; i < state.size(); ++i) moments.set(state[i].name, in[2 + i]);
    const optim::Update next = optim::update(adam, {{"w", in[0]}}, {{"w", in[1]}}, moments,
                                             constant(in[0].builder(), 0.1, Dtype::kF32));
    std::vector<Value> out = next.params.values();
    for (const Input& s : state) out.push_back(next.state.at(s.name));
    return out;
  });
  for (std::size_t o = 0; o < f.outputs().size(); ++o)
    if (f.type(f.outputs()[o].value) == w) {
      EXPECT_EQ(plan_of_given(f, o == 0 ? 0 : o + 1, o).find(kCopy), std::string::npos) << o;
    }
}

TEST(Donation, IsRefusedBetweenOtherTypes) {
  const Function f = updating([](Value, Value) { return std::vector<Value>{}; });
  for (const CompileOptions::Donation d : {CompileOptions::Donation{1, 0}, {3, 0}, {0, 1}})
    EXPECT_THROW(compile(f, giving(d)), Error);
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
  EXPECT_EQ(plan_of_given(f, 0, 0).find(kCopy), std::string::npos);
  EXPECT_NE(plan_of_given(f, 1, 1).find(kCopy), std::string::npos);
}

// 400 rows go through a product and the steps after it in blocks.
TEST(Donation, IsCopiedWhereEveryBlockOfRowsReadsTheWholeInput) {
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
  EXPECT_NE(plan_of_given(f, 1, 1).find(kCopy), std::string::npos);
  const Function g = trace("by_lanes", {{"x", {Dtype::kF32, {400, 400}}}, {"y", row}, {"z", row}},
                           [](std::span<const Value> in) {
                             return std::vector<Value>{softmax(in[0], 1) + in[1], tanh(in[2])};
                           });
  EXPECT_NE(compile(g).plan().find("2 steps for 400 rows"), std::string::npos);
  EXPECT_NE(plan_of_given(g, 1, 1).find(kCopy), std::string::npos);
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
