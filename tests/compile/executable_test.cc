// Executables: what running one may not do, what a plan looks like, and that the instruction set
// can be forced.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <thread>
#include <tuple>

#include "limpid/compile/compiled.h"
#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/inspect/op_example.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/ops.h"
#include "limpid/train/loop/step.h"
#include "limpid/transforms/bind.h"
#include "limpid/transforms/vmap.h"
#include "tests/compile/count_allocations.h"
#include "tests/guarded_memory.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

Tensor numbers(const Type& type, Key key) {
  if (type.dtype == Dtype::kF32)
    return Tensor::generate<float>(type.shape, [&](std::span<float> out) {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = key.uniform(i) - 0.5f;
    });
  return Tensor::zeros(type);
}

std::vector<Tensor> numbers_for(const Function& f) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < f.inputs().size(); ++i)
    inputs.push_back(numbers(f.inputs()[i].type, Key(i)));
  return inputs;
}

// The bits of the interpreter on every instruction set.
void expect_interpreted(const Function& f) {
  const std::vector<Tensor> inputs = numbers_for(f);
  const std::vector<Tensor> expected = interpret(f, inputs);
  for (const kernels::Isa isa : kernels::available_isas()) {
    const Executable executable = compile(f, {.isa = isa});
    const std::vector<Tensor> results = executable(inputs);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(results[i].same_bits(expected[i])) << f.name() << ", output " << i << "\n"
                                                     << executable.plan();
  }
}

// The memory of one run, made ahead.
struct Prepared {
  Prepared(const Executable& executable, const Function& f, ThreadPool* pool)
      : workspace(executable, pool), tensors(numbers_for(f)) {
    for (const Tensor& t : tensors) inputs.push_back(t.bytes().data());
    for (const Type& t : executable.output_types()) memory.emplace_back(t.bytes() + 64);
    for (auto& m : memory) outputs.push_back(m.data());
  }
  void run() { workspace.run(inputs, outputs); }

  Workspace workspace;
  std::vector<Tensor> tensors;
  std::vector<std::vector<std::byte>> memory;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
};

TEST(Workspace, EndsAtOtherNumbersOfPointers) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {2}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{relu(in[0])};
  });
  Workspace workspace(compile(f));
  const float x[2] = {1, -1};
  float y[2] = {};
  const void* const in[] = {x, x};
  void* const out[] = {y, y};
  EXPECT_DEATH(workspace.run({in, 2}, {out, 1}), "");
  EXPECT_DEATH(workspace.run({in, 1}, {out, 2}), "");
  EXPECT_DEATH(workspace.run({}, {}), "");
}

// A result that later steps read before it is stored, in a narrow dtype or twice, keeps its
// register until then.
TEST(Executable, AResultIsStoredAfterOthersHaveBeenComputed) {
  Builder b("stored");
  const Value x = b.input("x", {Dtype::kF32, {3000}});
  const Value positive = x > x * x;
  const Value half = cast(x * 3, Dtype::kBf16);
  // The last reader of the mask. Other values could take its register from here on.
  const Value y = select(positive, x, -x);
  const Value z = exp(y) * y - tanh(y);
  const Value w = z + cast(half, Dtype::kF32);
  const Function f = b.finish(std::vector<Value>{positive, half, z, z, w});
  expect_interpreted(f);
}

// Intermediate results are kept for a chunk of 1024 elements, and each has its own place.
TEST(Executable, AChainOfAnyLength) {
  for (const std::int64_t n : {1, 15, 1023, 1024, 1025, 2047, 2048, 2049, 5000})
    expect_interpreted(trace("chain", {{"x", {Dtype::kF32, {n}}}}, [](std::span<const Value> in) {
      const Value c = cos(in[0]), square = c * c;  // the last use of c, twice
      const Value e = exp(in[0]), t = tanh(in[0]), s = sin(in[0]);
      return std::vector<Value>{(square - t * s) / (t + s * e) + square};
    }));
}

// The result of a product is computed where a result of what follows will go, if that is written
// late enough, and has room for it.
TEST(Executable, AProductAndWhatFollowsFromIt) {
  using Traced = std::vector<Value> (*)(const Value&);
  const std::pair<const char*, Traced> all[] = {
      {"read after the first result",
       [](const Value& y) {
         const Value t = tanh(y);
         return std::vector<Value>{t, t * y, y - t};
       }},
      {"read last as the second operand",
       [](const Value& y) {
         const Value t = tanh(y);
         return std::vector<Value>{t, t - y};
       }},
      {"stored itself",
       [](const Value& y) {
         return std::vector<Value>{exp(y), y, y * y};
       }},
      {"a mask first",
       [](const Value& y) {
         const Value zero = number_like(y, 0);
         return std::vector<Value>{y > zero, select(y > zero, y, exp(y))};
       }},
      {"masks alone",
       [](const Value& y) {
         const Value zero = number_like(y, 0);
         return std::vector<Value>{y > zero, y < number_like(y, 1)};
       }},
      // The product applies the ReLU itself, and no other result may take its place.
      {"a ReLU stored behind what follows from it", [](const Value& y) {
         const Value positive = relu(y);
         return std::vector<Value>{exp(positive), positive};
       }}};
  for (const auto& [name, code] : all)
    for (const std::int64_t rows : {1, 7, 40}) {
      const auto& follow = code;  // a lambda captures no structured binding
      expect_interpreted(
          trace(name, {{"x", {Dtype::kF32, {rows, 6}}}, {"w", {Dtype::kF32, {33, 6}}}},
                [&](std::span<const Value> in) { return follow(linear(in[0], in[1])); }));
    }
}

TEST(Executable, ProductsAndRepetitions) {
  using Code = std::vector<Value> (*)(std::span<const Value>);
  const Type square{Dtype::kF32, {7, 7}};
  const std::tuple<const char*, std::vector<Input>, Code> all[] = {
      // The product needs the repeated row in memory, so a step writes it. exp joins that step.
      {"a repetition that is read again",
       {{"row", f32({9})}, {"w", f32({9, 5})}},
       [](std::span<const Value> in) {
         const Value repeated = broadcast(in[0], {300, 9});
         return std::vector<Value>{matmul(repeated, in[1]), exp(repeated)};
       }},
      // Elements that are repeated, and then repeated again in another order.
      {"a repetition of a repetition",
       {{"x", f32({4})}, {"y", f32({3, 4, 5})}},
       [](std::span<const Value> in) {
         const Value rows = broadcast(in[0], {3, 4});
         const Value whole = broadcast(reshape(rows, {3, 4, 1}), {3, 4, 5});
         const Value again = broadcast(reshape(rows, {12, 1}), {12, 5});
         return std::vector<Value>{whole * in[1], reshape(again, {3, 4, 5}) - in[1]};
       }},
      // There is one element to read, however often it is repeated.
      {"a repeated number",
       {{"x", f32({})}, {"y", f32({4, 5})}},
       [](std::span<const Value> in) {
         const Value column = reshape(broadcast(in[0], {4}), {4, 1});
         return std::vector<Value>{broadcast(column, {4, 5}) * in[1]};
       }},
      // The ReLU comes first, but is that of another value than the product.
      {"the ReLU of another value",
       {{"x", square}, {"w", square}, {"z", square}},
       [](std::span<const Value> in) {
         return std::vector<Value>{linear(in[0], in[1]) + relu(in[2])};
       }},
      // Each matrix gives a row of the result, and what follows is computed for all of them.
      {"sums of columns",
       {{"x", f32({3, 5, 40})}},
       [](std::span<const Value> in) { return std::vector<Value>{tanh(sum(in[0], 1))}; }},
      // A product reads the whole of what is added to it lane by lane.
      {"an operand that is added", {{"x", square}, {"w", square}}, [](std::span<const Value> in) {
         const Value h = gelu(in[0]);
         return std::vector<Value>{linear(h, in[1]) + h};
       }}};
  for (const auto& [name, inputs, code] : all) expect_interpreted(trace(name, inputs, code));
}

// PyTorch's numbers, none of which f32 has: one less of them is rounded once.
TEST(Executable, AdamOfNumbersThatAreRounded) {
  const Type rows = f32({70}), one = f32({});
  expect_interpreted(trace("adam",
                           {{"p", rows},
                            {"g", rows},
                            {"m", rows},
                            {"v", rows},
                            {"scale", one},
                            {"decay", one},
                            {"step", one},
                            {"root", one}},
                           [](std::span<const Value> in) {
                             const AdamUpdated y =
                                 adam_update(in[0], in[1], in[2], abs(in[3]),
                                             {in[4], in[5], in[6], abs(in[7])}, {});
                             return std::vector<Value>{y.parameter, y.mean, y.square};
                           }));
}

// What a kernel takes in other dtypes, layouts or numbers of keys only.
TEST(Executable, WhatNoKernelTakes) {
  const auto check = [](const char* name, const std::vector<Input>& inputs,
                        const std::function<Value(std::span<const Value>)>& code) {
    expect_interpreted(trace(
        name, inputs, [&](std::span<const Value> in) { return std::vector<Value>{code(in)}; }));
  };
  const Input x{"x", f32({9, 5})}, w{"w", f32({9, 6})};
  check("columns times bf16", {x, w},
        [](auto in) { return matmul(in[0], cast(in[1], Dtype::kBf16), true, false); });
  check("rows of f64", {x, {"rows", f32({2, 5})}, {"at", {Dtype::kI32, {}}}}, [](auto in) {
    return update_rows(cast(in[0], Dtype::kF64), cast(in[1], Dtype::kF64), in[2], 0);
  });
  check("rows of integers added up", {x, {"at", {Dtype::kI32, {9}}}},
        [](auto in) { return scatter_add(in[1], cast(in[0] * 100, Dtype::kI32), 3); });
  check("bits of two keys", {{"keys", {Dtype::kI64, {2}}}}, [](auto in) {
    return random_bits(in[0], {3, 3});
  });
  check("a batch of constants", {{"x", f32({2, 3, 4})}}, [](auto in) {
    return matmul(in[0], constant(in[0].builder(), numbers(f32({2, 4, 5}), Key(1))));
  });
}

// Each sequence has another position.
TEST(Executable, SequencesAtTheirPositions) {
  const std::vector<Input> inputs{{"q", f32({2, 3, 1, 4})},
                                  {"k", f32({2, 3, 4, 9})},
                                  {"v", f32({2, 3, 9, 5})},
                                  {"at", {Dtype::kI32, {2}}},
                                  {"rows", f32({2, 3, 1, 5})}};
  const Function f = trace("sequences", inputs, [](std::span<const Value> in) {
    return std::vector<Value>{cached_attention(in[0], in[1], in[2], in[3]),
                              update_rows(in[2], in[4], in[3], 2)};
  });
  std::vector<Tensor> arguments = numbers_for(f);
  arguments[3] = Tensor::from<std::int32_t>({2}, std::vector<std::int32_t>{2, 7});
  const std::vector<Tensor> expected = interpret(f, arguments);
  const std::vector<Tensor> results = compile(f)(arguments);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(results[i].same_bits(expected[i])) << i;
}

TEST(Executable, RefusesTensorsThatDoNotFit) {
  const Function f = trace("f", {{"x", f32({3})}, {"y", f32({4})}}, [](std::span<const Value> in) {
    return std::vector<Value>{in[0] * 2.0, in[1] * 3.0};
  });
  const Executable executable = compile(f);
  const std::function<void(const std::vector<Tensor>&)> calls[] = {
      [&](const auto& inputs) { executable(inputs); }, [&](const auto& inputs) { run(f, inputs); }};
  const Tensor x = numbers(f32({3}), Key(1)), y = numbers(f32({4}), Key(2));
  const std::pair<std::vector<Tensor>, ErrorCode> all[] = {
      {{x}, ErrorCode::kInvalidArgument},
      {{x, y, y}, ErrorCode::kInvalidArgument},
      {{x, x}, ErrorCode::kShape},
      {{x, Tensor::zeros({Dtype::kI32, {4}})}, ErrorCode::kDtype}};
  for (const auto& call : calls)
    for (const auto& [inputs, code] : all) {
      expect_refused(code, [&] { call(inputs); });
    }
}

TEST(Executable, RunsWithoutAllocation) {
  const nn::Mlp net = nn::mlp({50, 40, 7}, relu, 0.2);
  const Function step = train::step_function(train::mlp_problem(net), {optim::Sgd{0.9}}, 300);
  const Function model = vmap(bind(net.function(), net.init(Key(0))), {0}, 33);
  ThreadPool pool({.threads = 3});
  for (const Function& f : {step, model})
    for (ThreadPool* shared : {static_cast<ThreadPool*>(nullptr), &pool}) {
      Prepared prepared(compile(f), f, shared);
      const std::size_t before = allocations();
      for (int i = 0; i < 20; ++i) prepared.run();
      EXPECT_EQ(allocations(), before) << f.name();
    }
}

// It keeps its plan and the memory of a run.
TEST(CalledFunction, MakesMemoryForItsResultsAlone) {
  const nn::Mlp net = nn::mlp({50, 40, 30, 7}, relu);
  const Function f = bind(net.function(), net.init(Key(0)));
  const Tensor x = numbers(f32({50}), Key(1));
  const Tensor first = f(x);
  const std::size_t before = aligned_allocations();
  const Tensor second = f(x);
  EXPECT_EQ(aligned_allocations(), before + 1);
  EXPECT_TRUE(second.same_bits(first));
}

TEST(CalledFunction, IsCalledByManyThreadsAtOnce) {
  const nn::Mlp net = nn::mlp({50, 40, 30, 7}, gelu);
  const Function f = bind(net.function(), net.init(Key(0)));
  std::vector<Tensor> inputs, expected;
  for (std::uint64_t i = 0; i < 8; ++i) {
    inputs.push_back(numbers(f32({50}), Key(i)));
    expected.push_back(interpret(f, {&inputs.back(), 1})[0]);
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 200; ++i) {
        const std::size_t k = (i + 2 * t) % inputs.size();
        const Tensor result = f(inputs[k]);
        wrong += !result.same_bits(expected[k]);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Reference arithmetic is used where there is no kernel, and keeps the promise, too.
TEST(Executable, RunsReferenceStepsWithoutAllocation) {
  const Function f = trace("f", {{"x", {Dtype::kF64, {3, 4, 5}}}, {"k", {Dtype::kI64, {2}}}},
                           [](std::span<const Value> in) {
                             const Value t = transpose(tanh(in[0]), {2, 0, 1});
                             return std::vector<Value>{softmax(broadcast(t, {2, 5, 3, 4}), 1),
                                                       matmul(t, t, false, true), argmax(t, 0),
                                                       random_bits(in[1], {3, 3})};
                           });
  Prepared prepared(compile(f), f, nullptr);
  const std::size_t before = allocations();
  for (int i = 0; i < 20; ++i) prepared.run();
  EXPECT_EQ(allocations(), before);
}

// Of every op on every example of its record, and of cases that the examples lack.
TEST(Executable, RunsEveryOpWithoutAllocation) {
  const auto check = [](const Function& f) {
    for (const bool shared : {false, true}) {
      ThreadPool pool({.threads = shared ? 2 : 1});
      const Executable executable = compile(f, {.nanoseconds_worth_sharing = 0});
      Prepared prepared(executable, f, &pool);
      prepared.run();
      const std::size_t before = allocations();
      prepared.run();
      EXPECT_EQ(allocations(), before) << f.name() << '\n' << executable.plan();
    }
  };
  for (const Op* op : all_ops())
    for (const Example& example : op->examples()) check(function_of(*op, example));
  const Type wide{Dtype::kF64, {2, 4, 5, 3}};
  check(trace("attention", {{"q", wide}, {"k", wide}, {"v", wide}}, [](std::span<const Value> in) {
    return std::vector<Value>{scaled_dot_product_attention(in[0], in[1], in[2], {.causal = true})};
  }));
  check(trace("cached_attention",
              {{"q", wide},
               {"k", {Dtype::kF64, {2, 4, 3, 9}}},
               {"v", {Dtype::kF64, {2, 4, 9, 3}}},
               {"at", {Dtype::kI32, {2}}}},
              [](std::span<const Value> in) {
                return std::vector<Value>{cached_attention(in[0], in[1], in[2], in[3])};
              }));
  check(trace("bf16", {{"x", {Dtype::kF32, {3, 2, 300}}}, {"w", {Dtype::kBf16, {3, 300, 4}}}},
              [](std::span<const Value> in) { return std::vector<Value>{matmul(in[0], in[1])}; }));
}

// Kernels may write whole vectors into values between steps, but not into the caller's outputs.
TEST(Executable, WritesNoByteBeyondItsOutputs) {
  for (std::int64_t n = 1; n <= 40; ++n) {
    const nn::Mlp net = nn::mlp({3, n, n}, tanh);
    const Function layers = bind(net.function(), net.init(Key(0)));
    const Function f = trace("f", {{"x", {Dtype::kF32, {3}}}}, [&](std::span<const Value> in) {
      const Value y = in[0].builder().inline_function(layers, in)[0];
      return std::vector<Value>{y, exp(y)};
    });
    const std::vector<Tensor> want = interpret(f, numbers_for(f));
    for (const kernels::Isa isa : kernels::available_isas()) {
      const Executable executable = compile(f, {.isa = isa});
      Prepared prepared(executable, f, nullptr);
      for (auto& m : prepared.memory) std::fill(m.begin(), m.end(), std::byte{0xA5});
      prepared.run();
      for (std::size_t o = 0; o < want.size(); ++o) {
        const auto bytes = want[o].bytes();
        const std::vector<std::byte>& got = prepared.memory[o];
        EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), got.begin())) << n << ", output " << o;
        EXPECT_EQ(std::count(got.begin() + static_cast<std::ptrdiff_t>(bytes.size()), got.end(),
                             std::byte{0xA5}),
                  64)
            << n << ", output " << o;
      }
    }
  }
}

// A mask that is repeated is read where it is, by its own rows; one whose elements are repeated,
// and one of f64, is not.
TEST(Executable, AttentionTakesMasksThatAreRepeated) {
  const Shape rows{2, 2, 5, 4}, keys{2, 2, 5, 4};
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF64})
    for (const Dtype of_mask : {Dtype::kBool, dtype})
      for (const Shape& mask :
           {Shape{5}, Shape{5, 1}, Shape{5, 5}, Shape{2, 1, 5}, Shape{2, 5, 1}, Shape{2, 5, 5},
            Shape{2, 1, 1, 5}, Shape{2, 1, 5, 5}, Shape{2, 2, 5, 5}}) {
        const std::vector<Input> inputs{{"q", {dtype, rows}},
                                        {"k", {dtype, keys}},
                                        {"v", {dtype, keys}},
                                        {"mask", {of_mask, mask}}};
        const Function f = trace("attention", inputs, [](std::span<const Value> in) {
          return std::vector<Value>{
              scaled_dot_product_attention(in[0], in[1], in[2], {.mask = in[3]})};
        });
        const std::vector<Tensor> arguments = random_inputs(f, Key(1));
        const Tensor expected = interpret(f, arguments)[0];
        for (const kernels::Isa isa : kernels::available_isas())
          EXPECT_TRUE(compile(f, {isa})(arguments)[0].same_bits(expected))
              << to_string(inputs.back().type) << ", " << kernels::name(isa);
      }
}

// Inputs, like outputs, must not be read beyond their end: a protected page follows them here.
TEST(Executable, ReadsNoByteBeyondItsInputs) {
  for (std::int64_t n = 1; n <= 40; ++n) {
    const Tensor weight = numbers({Dtype::kF32, {5, n}}, Key(7));
    const Function f = trace("f", {{"x", {Dtype::kF32, {n}}}}, [&](std::span<const Value> in) {
      // The result of tanh stays between the steps.
      return std::vector<Value>{linear(tanh(in[0]), constant(in[0].builder(), weight))};
    });
    const std::vector<Tensor> inputs = numbers_for(f);
    const auto values = inputs[0].values<float>();
    const GuardedVector<float> x(values.begin(), values.end());
    const Tensor want = interpret(f, inputs)[0];
    for (const kernels::Isa isa : kernels::available_isas()) {
      Workspace workspace(compile(f, {.isa = isa}), nullptr);
      std::vector<float> y(5);
      const void* const in = x.data();
      void* const out = y.data();
      workspace.run({&in, 1}, {&out, 1});
      EXPECT_TRUE(std::ranges::equal(y, want.values<float>())) << n;
    }
  }
}

// A copy would share its memory.
static_assert(!std::is_copy_constructible_v<Workspace> && std::is_move_constructible_v<Workspace>);

TEST(Executable, HasScratchMemoryForEveryThread) {
  const Executable plan =
      compile(trace("sums", {{"x", f32({64, 300})}}, [](std::span<const Value> in) {
        return std::vector<Value>{sum(softmax(in[0]) * in[0], 1)};
      }));
  const auto bytes_with = [&](int threads) {
    ThreadPool pool({.threads = threads, .pin = false});
    return Workspace(plan, &pool).bytes();
  };
  const std::size_t alone = Workspace(plan).bytes(), of_a_thread = bytes_with(2) - alone;
  EXPECT_GT(of_a_thread, 0u);
  EXPECT_EQ(bytes_with(1), alone);
  EXPECT_EQ(bytes_with(5), alone + 4 * of_a_thread);
}

// A query, scaled, and its scores.
TEST(Executable, HasScratchMemoryForAttentionOfF64) {
  const Type one{Dtype::kF64, {1, 1, 1000}};
  const Executable plan = compile(
      trace("attention", {{"q", one}, {"k", one}, {"v", one}}, [](std::span<const Value> in) {
        return std::vector<Value>{scaled_dot_product_attention(in[0], in[1], in[2])};
      }));
  EXPECT_GE(Workspace(plan).bytes(), 1001 * sizeof(double));
}

// The memory of all threads together may overflow a size_t.
TEST(Executable, RefusesMemoryForMoreThreadsThanThereIs) {
  const std::int64_t wide = Shape::kMaxElements / 2;
  const Executable plan =
      compile(trace("wide", {{"x", f32({2, 1})}}, [&](std::span<const Value> in) {
        const Value row = softmax(broadcast(in[0], {2, wide}));
        return std::vector<Value>{sum(row * row, 1)};
      }));
  const auto bytes_of_a_thread = static_cast<std::size_t>(wide) * sizeof(float);
  const int threads = static_cast<int>(std::numeric_limits<std::size_t>::max() / bytes_of_a_thread);
  ThreadPool pool({.threads = threads + 1, .pin = false});
  EXPECT_THROW(Workspace(plan, &pool), Error);
}

// Two pools and a hundred Executables at once, each run with its own Workspace, give the same
// results as one alone.
TEST(Executable, RunsFromManyThreadsAtOnce) {
  constexpr std::size_t kExecutables = 100;
  std::vector<Executable> executables;
  std::vector<std::vector<Tensor>> inputs, expected;
  for (std::size_t e = 0; e < kExecutables; ++e) {
    const auto width = static_cast<std::int64_t>(8 + e);
    const nn::Mlp net = nn::mlp({24, width, 5}, relu, 0.1);
    const Function step = train::step_function(train::mlp_problem(net), {optim::Sgd{0.9}}, 16);
    executables.push_back(compile(step, {.isa = {}, .nanoseconds_worth_sharing = 0}));
    inputs.push_back(numbers_for(step));
    expected.push_back(executables.back()(inputs.back()));
  }
  ThreadPool pools[] = {ThreadPool({.threads = 2}), ThreadPool({.threads = 3})};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      // Every Executable from every thread, each starting at another one.
      for (std::size_t i = 0; i < kExecutables; ++i) {
        const std::size_t e = (i + t * 17) % kExecutables;
        const std::vector<Tensor> got = executables[e](inputs[e], t < 2 ? nullptr : &pools[t % 2]);
        for (std::size_t o = 0; o < got.size(); ++o) wrong += !got[o].same_bits(expected[e][o]);
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

// Kernels use streaming stores then, and the caller must see other threads' results.
TEST(Executable, ResultsOfMoreThanTheCachesHold) {
  const Type type{Dtype::kF32, {2100, 4096}};
  const std::vector<Tensor> inputs = {numbers(type, Key(1))};
  ThreadPool pool({.threads = 2});
  for (const auto& op :
       {std::function<Value(const Value&)>(relu),
        std::function<Value(const Value&)>([](const Value& x) { return rms_norm(x); })}) {
    const Function f = trace("f", {{"x", type}}, [&](std::span<const Value> in) {
      return std::vector<Value>{op(in[0])};
    });
    const std::vector<Tensor> expected = interpret(f, inputs);
    const Executable executable = compile(f);
    EXPECT_TRUE(executable(inputs)[0].same_bits(expected[0])) << executable.plan();
    EXPECT_TRUE(executable(inputs, &pool)[0].same_bits(expected[0])) << executable.plan();
  }
}

TEST(Plan, HasBiasAndReluInsideOfTheProduct) {
  const nn::Mlp net = nn::mlp({6, 5, 3}, relu);
  const std::string plan = compile(bind(net.function(), net.init(Key(0)))).plan();
  EXPECT_NE(plan.find("packed + const1 relu"), std::string::npos) << plan;
  EXPECT_EQ(plan.find("lanes"), std::string::npos) << plan;
  EXPECT_EQ(std::count(plan.begin(), plan.end(), '\n'), 3) << plan;  // two steps and their heading
}

TEST(Plan, LeavesAReluOutsideOfAProductThatIsReadAgain) {
  const Function f = trace(
      "f",
      {{"x", {Dtype::kF32, {7, 6}}}, {"w", {Dtype::kF32, {33, 6}}}, {"b", {Dtype::kF32, {33}}}},
      [](std::span<const Value> in) {
        const Value y = linear(in[0], in[1], in[2]);
        return std::vector<Value>{relu(y) * y};
      });
  const std::vector<Tensor> inputs = numbers_for(f);
  const Executable executable = compile(f);
  EXPECT_TRUE(executable(inputs)[0].same_bits(interpret(f, inputs)[0])) << executable.plan();
}

TEST(Plan, MakesOnePassOfAChain) {
  const Function f =
      trace("f", {{"x", {Dtype::kF32, {1000}}}, {"y", {Dtype::kF32, {1000}}}},
            [](std::span<const Value> in) {
              return std::vector<Value>{exp(in[0] * 2.0 + in[1]) / (1.0 + abs(in[1]))};
            });
  const Executable executable = compile(f);
  EXPECT_EQ(executable.workspace_bytes(), 0u) << executable.plan();
}

// Each program joins the next one behind a step that takes none. What passes between them stays in
// registers.
TEST(Plan, MakesOnePassOfProgramsThatJoinInTurn) {
  const Type i32{Dtype::kI32, {40}};
  const Function f =
      trace("f", {{"x", f32({40, 8})}, {"t", f32({10, 8})}, {"a", i32}, {"b", i32}, {"c", i32}},
            [](std::span<const Value> in) {
              Value x = exp(in[0]);
              for (int i = 2; i < 5; ++i) x = tanh(x + gather(in[1], in[i]));
              return std::vector<Value>{x};
            });
  const std::string plan = compile(f).plan();
  EXPECT_EQ(plan.find("lanes"), plan.rfind("lanes")) << plan;
  EXPECT_EQ(compile(f).workspace_bytes(), 3u * 40 * 8 * 4) << plan;
  expect_interpreted(f);
}

// exp and tanh read an operand of the product, and move behind it, so that one pass computes all.
// The sum joins tanh first, and so moves in the second turn.
TEST(Plan, MovesWhatAProductIsCombinedWithBehindIt) {
  const Function f = trace("f", {{"x", f32({8, 16})}, {"w", f32({16, 16})}}, [](auto in) {
    const Value product = matmul(in[0], in[1]), e = exp(in[0]), t = tanh(in[0]);
    return std::vector<Value>{product * (e + t)};
  });
  EXPECT_EQ(compile(f).plan(), R"(out0 = matmul 1x8x16x16 in0 in1
    r0 = in0
    r1 = out0
    r2 = exp r0
    r3 = tanh r0
    r4 = add r2 r3
    r5 = multiply r1 r4
    out0 = r5
)");
  expect_interpreted(f);
}

// A program of random bits reads its key, which is made behind the product here.
TEST(Plan, KeepsRandomBitsBehindTheirKey) {
  const Function f = trace(
      "f", {{"x", f32({8, 16})}, {"w", f32({16, 16})}, {"keys", {Dtype::kI64, {3}}}}, [](auto in) {
        const Value product = matmul(in[0], in[1]);
        const Value bits = random_bits(sum(in[2], 0), {8, 16});
        return std::vector<Value>{cast(bits, Dtype::kF32) * exp(product)};
      });
  const std::string plan = compile(f).plan();
  EXPECT_LT(plan.find("reference sum"), plan.find("= random_bits")) << plan;
  expect_interpreted(f);
}

TEST(Plan, ComputesI32InLanes) {
  const Type i32{Dtype::kI32, {40}};
  const Function f = trace("f", {{"a", i32}, {"b", i32}},
                           [](auto in) { return std::vector<Value>{(in[0] + in[1]) * in[0]}; });
  EXPECT_EQ(compile(f).plan(), R"(lanes
    r0 = in0
    r1 = in1
    r2 = add r0 r1
    r3 = multiply r2 r0
    out0 = r3
)");
  expect_interpreted(f);
}

// A value takes the smallest gap between others that it fits, and leaves the rest of it to the
// next; gaps beside each other are one.
TEST(Plan, FillsTheGapsBetweenValues) {
  Builder builder("f");
  const Value row = builder.input("row", f32({1, 16}));
  std::vector<Value> results;
  // Values of 64 bytes times `size`, from where they are made to where they are read.
  std::uint64_t keys = 0;
  const auto given = [&](const Shape& shape) {
    return constant(builder, numbers({Dtype::kF32, shape}, Key(keys++)));
  };
  const auto make = [&](std::int64_t size) { return matmul(given({size, 1}), row); };
  const auto read = [&](const Value& value) {
    results.push_back(matmul(given({1, value.shape()[0]}), value));
  };
  const Value a = make(2), b = make(1), c = make(4), d = make(1);
  read(a);
  read(c);
  const Value e = make(2), f = make(4);  // where a was, where c was
  read(e);
  const Value g = make(1), h = make(1);  // both where e was
  read(g);
  read(h);
  const Value i = make(2);  // where g and h were
  read(b);
  read(i);
  const Value j = make(3);  // where i and b were
  for (const Value& last : {d, f, j}) read(last);
  const Function function = builder.finish(results);
  EXPECT_EQ(compile(function).workspace_bytes(), 8u * 64);
  expect_interpreted(function);
}

// Each of the values has a size that a number counts, and all of them together have not.
TEST(Plan, RefusesValuesOfMoreBytesThanThereAre) {
  constexpr std::int64_t kSide = std::int64_t{1} << 28;
  Builder builder("f");
  const Value row = builder.input("row", f32({1, kSide}));
  std::vector<Value> columns, values, results;
  for (int i = 0; i < 17; ++i)
    columns.push_back(builder.input("x" + std::to_string(i), f32({kSide, 1})));
  for (const Value& column : columns) values.push_back(matmul(column, row));
  for (const Value& value : values) results.push_back(matmul(row, value));
  const Function f = builder.finish(results);
  expect_refused(ErrorCode::kUnsupported, [&] { compile(f); });
}

TEST(Plan, SharesMemoryBetweenValuesThatDoNotMeet) {
  // A chain of products: each needs its operand and its result, however long the chain is.
  const Function f = trace("f", {{"x", {Dtype::kF32, {64, 64}}}}, [](std::span<const Value> in) {
    Value x = in[0];
    for (int i = 0; i < 20; ++i) x = matmul(x, in[0]);
    return std::vector<Value>{x};
  });
  const Executable executable = compile(f);
  EXPECT_EQ(executable.workspace_bytes(), 2u * 64 * 64 * 4);
  const std::vector<Tensor> inputs = numbers_for(f);
  EXPECT_TRUE(executable(inputs)[0].same_bits(interpret(f, inputs)[0])) << executable.plan();
}

// A barrier is no step, but reads through it are not moved before earlier writes.
TEST(Plan, KeepsABarrierBetween) {
  const auto plan_of = [](bool barred) {
    return compile(trace("f", {{"x", {Dtype::kF32, {64, 64}}}},
                         [&](std::span<const Value> in) {
                           const Value e = exp(in[0]);
                           const Value m = matmul(e, e);
                           return std::vector<Value>{m, tanh(barred ? barrier(e) : e)};
                         }))
        .plan();
  };
  const std::string plain = plan_of(false);
  const std::string barred = plan_of(true);
  EXPECT_LT(plain.find("tanh"), plain.find("matmul")) << plain;
  EXPECT_GT(barred.find("tanh"), barred.find("matmul")) << barred;
  EXPECT_EQ(barred.find("copy"), std::string::npos) << barred;
  EXPECT_EQ(barred.find("lanes", barred.find("lanes") + 1), std::string::npos) << barred;
}

// Nor are reads of a value in another shape, or of a number that comes with each run.
TEST(Plan, KeepsABarrierBeforeAnotherShapeAndANumber) {
  const auto plan_of = [](const std::function<Value(const Value& e, const Value& number)>& late) {
    return compile(trace("f", {{"x", f32({64, 64})}, {"number", f32({})}},
                         [&](std::span<const Value> in) {
                           const Value e = exp(in[0]);
                           const Value m = matmul(e, e);
                           return std::vector<Value>{m, tanh(late(e, in[1]))};
                         }))
        .plan();
  };
  const std::string plans[] = {
      plan_of([](const Value& e, const Value&) { return reshape(barrier(e), {4096}); }),
      plan_of([](const Value& e, const Value& number) { return e * barrier(number); })};
  for (const std::string& plan : plans) EXPECT_GT(plan.find("tanh"), plan.find("matmul")) << plan;
}

// A large result that depends on nothing would take memory as long as the plan lives.
TEST(Plan, ComputesSmallResultsOfNothingBeforehand) {
  const auto plan_of = [](std::int64_t n) {
    return compile(trace("f", {{"x", {Dtype::kI32, {n}}}},
                         [&](std::span<const Value> in) {
                           return std::vector<Value>{in[0] + iota(in[0].builder(), n)};
                         }))
        .plan();
  };
  EXPECT_EQ(plan_of(1 << 20).find("iota"), std::string::npos);
  EXPECT_NE(plan_of((1 << 20) + 1).find("iota"), std::string::npos);
}

// Neither are reads of elements that are repeated.
TEST(Plan, KeepsABarrierBeforeARepetition) {
  const auto plan_of = [](bool barred) {
    return compile(
               trace("f", {{"x", {Dtype::kF32, {64, 64}}}},
                     [&](std::span<const Value> in) {
                       const Value total = sum(in[0], 0), shares = softmax(in[0]);
                       const Value m = matmul(shares, shares);
                       const Value repeated = broadcast(barred ? barrier(total) : total, {64, 64});
                       return std::vector<Value>{m, tanh(shares * repeated)};
                     }))
        .plan();
  };
  const std::string plain = plan_of(false), barred = plan_of(true);
  EXPECT_LT(plain.find("tanh"), plain.find("matmul")) << plain;
  EXPECT_GT(barred.find("tanh"), barred.find("matmul")) << barred;
}

// A program that joins another one keeps it behind the barrier, too.
TEST(Plan, KeepsABarrierOfAProgramThatJoinedAnother) {
  const std::string plan =
      compile(trace("f", {{"x", f32({64, 64})}, {"row", f32({64})}}, [](std::span<const Value> in) {
        const Value m = matmul(in[0], in[0]), e = exp(in[0]);
        const Value repeated = broadcast(barrier(in[1]), {64, 64});
        return std::vector<Value>{e * repeated + m};
      })).plan();
  EXPECT_EQ(plan.find("s2 = matmul 1x64x64x64 in0 in0\nlanes\n"), 0u) << plan;
}

// Every kind of step, with its operands in their places.
TEST(Plan, NamesWhatEveryStepReads) {
  const auto line = [](const std::vector<Type>& types,
                       const std::function<std::vector<Value>(std::span<const Value>)>& code) {
    std::vector<Input> inputs;
    for (const Type& type : types) inputs.push_back({"x" + std::to_string(inputs.size()), type});
    std::string plan = compile(trace("f", inputs, code)).plan();
    EXPECT_EQ(std::count(plan.begin(), plan.end(), '\n'), 1) << plan;
    return plan.substr(0, plan.size() - 1);
  };
  using Values = std::vector<Value>;
  const Type row = f32({4}), rows = f32({3, 4}), one = f32({});
  EXPECT_EQ(
      line(
          {row, row, row, row, one, one, one, one},
          [](auto x) {
            const AdamUpdated y = adam_update(x[0], x[1], x[2], x[3], {x[4], x[5], x[6], x[7]}, {});
            return Values{y.parameter, y.mean, y.square};
          }),
      "out0, out1, out2 = adam_update 4 in0, in1, in2, in3");
  const auto attention = [](auto x) {
    return Values{
        scaled_dot_product_attention(x[0], x[1], x[2], {.mask = x.size() == 4 ? x[3] : Value()})};
  };
  EXPECT_EQ(line({f32({2, 5, 4}), f32({2, 6, 4}), f32({2, 6, 3})}, attention),
            "out0 = attention 2x5x6x4 in0 in1 in2");
  EXPECT_EQ(line({rows, rows, rows, f32({3, 3})}, attention),
            "out0 = attention 1x3x3x4 in0 in1 in2 mask in3");
  const Type wide{Dtype::kF64, {3, 4}};
  EXPECT_EQ(line({wide, wide, wide}, attention), "out0 = attention 1x3x3x4 f64 in0 in1 in2");
  EXPECT_EQ(line({f32({2, 1, 4}), f32({2, 4, 6}), f32({2, 6, 3}), {Dtype::kI32, {}}},
                 [](auto x) { return Values{cached_attention(x[0], x[1], x[2], x[3])}; }),
            "out0 = attention 2x1x6x4 in0 in1 in2 at in3");
  EXPECT_EQ(
      line({f32({6, 4}), {Dtype::kI32, {2}}}, [](auto x) { return Values{gather(x[0], x[1])}; }),
      "out0 = gather 1x2 in0[in1]");
  EXPECT_EQ(
      line({{Dtype::kI32, {3}}, rows}, [](auto x) { return Values{scatter_add(x[0], x[1], 6)}; }),
      "out0[in0] = scatter_add 1x3 in1");
  EXPECT_EQ(line({rows, f32({1, 4}), {Dtype::kI32, {}}},
                 [](auto x) { return Values{update_rows(x[0], x[1], x[2], 0)}; }),
            "out0 = update in0 rows in1 at in2");
  EXPECT_EQ(line({f32({2, 3, 4})},
                 [](auto x) {
                   return Values{transpose(x[0], {0, 2, 1})};
                 }),
            "out0 = transpose 2x3x4 in0");
  EXPECT_EQ(line({f32({3, 1, 4})},
                 [](auto x) {
                   return Values{transpose(x[0], {1, 0, 2})};  // the elements stay in order
                 }),
            "out0 = copy in0");
  EXPECT_EQ(line({rows}, [](auto x) { return Values{slice(x[0], 1, 1, 3)}; }),
            "out0 = move 3x8 bytes in0");
  EXPECT_EQ(line({f32({2, 3, 4, 5})},
                 [](auto x) {
                   return Values{transpose(x[0], {2, 1, 0, 3})};
                 }),
            "out0 = move 24x20 bytes in0");
  EXPECT_EQ(line({rows, row, row}, [](auto x) { return Values{layer_norm(x[0], x[1], x[2])}; }),
            "out0 = layer_norm 1x3x4 in0 * in1 + in2");
  EXPECT_EQ(line({rows, row, rows},
                 [](auto x) {
                   return call(op::rms_norm_gradient, Values{x[0], x[2], x[1]},
                               {{"dims", std::int64_t{1}}, {"eps", 1e-5}});
                 }),
            "out0, out1 = rms_norm_gradient 1x3x4 in0, in2 * in1");
  EXPECT_EQ(line({f32({4, 3}), f32({5, 4})},
                 [](auto x) { return Values{matmul(x[0], x[1], true, true)}; }),
            "out0 = matmul 1x3x5x4 in0^T in1^T");
  EXPECT_EQ(
      line({rows, f32({5, 4}), f32({5})}, [](auto x) { return Values{linear(x[0], x[1], x[2])}; }),
      "out0 = matmul 1x3x5x4 in0 in1^T + in2");
  EXPECT_EQ(
      line({{Dtype::kF64, {3}}, {Dtype::kF64, {3}}}, [](auto x) { return Values{x[1] - x[0]}; }),
      "out0 = reference subtract in1, in0");
  EXPECT_EQ(line({row}, [](auto x) { return Values{x[0]}; }), "out0 = copy in0");
}

// Registers are numbered, inputs first; repeated inputs say how.
TEST(Plan, NamesWhatEveryInstructionReads) {
  const Executable plan =
      compile(trace("f", {{"x", f32({3, 4})}, {"y", f32({3, 1})}, {"key", {Dtype::kI64, {}}}},
                    [](std::span<const Value> in) {
                      const Value bits = cast(random_bits(in[2], {3, 4}), Dtype::kF32);
                      return std::vector<Value>{in[0] - broadcast(in[1], {3, 4}) * bits};
                    }));
  EXPECT_EQ(plan.plan(),
            "lanes\n"
            "    r0 = in1[i / 4 mod 3]\n"
            "    r1 = in0\n"
            "    r2 = random_bits in2\n"
            "    r3 = cast r2\n"
            "    r4 = multiply r0 r3\n"
            "    r5 = subtract r1 r4\n"
            "    out0 = r5\n");
  const Executable repeated =
      compile(trace("f", {{"x", f32({3, 1, 4})}}, [](std::span<const Value> in) {
        return std::vector<Value>{exp(broadcast(in[0], {2, 3, 1, 4}))};
      }));
  EXPECT_EQ(repeated.plan(),
            "lanes\n"
            "    r0 = in0[i / 1 mod 12]\n"
            "    r1 = exp r0\n"
            "    out0 = r1\n");
  const Type square = f32({5, 5});
  const Executable chain = compile(trace("g", {{"x", square}}, [&](std::span<const Value> in) {
    const Value w = constant(in[0].builder(), numbers(square, Key(1)));
    const Value y = exp(linear(softmax(in[0]), w));
    return std::vector<Value>{matmul(y, y)};
  }));
  EXPECT_EQ(chain.plan(),
            "2 steps for 5 rows, 5 at a time:\n"
            "b1 = softmax 1x5x5 in0\n"
            "s4 = matmul 1x5x5x5 b1 const0^T packed\n"
            "    r0 = s4\n"
            "    r1 = exp r0\n"
            "    s4 = r1\n"
            "out0 = matmul 1x5x5x5 s4 s4\n");
}

TEST(InstructionSet, IsForcedByTheEnvironment) {
  for (kernels::Isa isa : kernels::available_isas()) {
    ASSERT_EQ(setenv("LIMPID_ISA", std::string(name(isa)).c_str(), 1), 0);
    EXPECT_EQ(kernels::default_isa(), isa);
  }
  setenv("LIMPID_ISA", "abacus", 1);
  expect_refused(ErrorCode::kInvalidArgument, [&] { compile(nn::mlp({2, 1}, relu).function()); });
  unsetenv("LIMPID_ISA");
}

TEST(InstructionSet, IsRefusedIfTheMachineLacksIt) {
  const auto available = kernels::available_isas();
  const Function f = nn::mlp({2, 1}, relu).function();
  for (const kernels::Isa isa : {kernels::Isa::kAvx512, kernels::Isa::kAvx2, kernels::Isa::kNeon}) {
    if (std::find(available.begin(), available.end(), isa) != available.end()) continue;
    EXPECT_THROW(compile(f, {.isa = isa}), Error) << name(isa);
  }
}

TEST(Compiled, TracesOnceForEveryType) {
  const nn::Mlp net = nn::mlp({4, 3, 2}, relu);
  int traced = 0;
  auto code = [&](const Args& p, Value x) {
    ++traced;
    return net(p, x);
  };
  auto run = compile(code);
  const Params params = net.init(Key(0));
  const Tensor one = numbers({Dtype::kF32, {4}}, Key(1));
  const Tensor two = numbers({Dtype::kF32, {5, 4}}, Key(2));
  run(params, one);
  EXPECT_TRUE(
      run(params, two).rows(3, 1).reshape({2}).same_bits(run(params, two.rows(3, 1).reshape({4}))));
  EXPECT_EQ(traced, 2);
}

// Parts of one tensor have one owner, and are different parameters all the same.
TEST(Compiled, TellsPartsOfOneTensorApart) {
  auto run = compile([](const Args& p) { return p.at("w") * 2.0; });
  const Tensor both = Tensor::from<float>({2, 1}, {1, 5});
  for (int row = 0; row < 2; ++row) {
    const Params params{{"w", both.rows(row, 1)}};
    for (int call = 0; call < 4; ++call)
      EXPECT_EQ(run(params).values<float>()[0], row == 0 ? 2 : 10) << call;
  }
}

TEST(Errors, NameTheLayerAndBothShapes) {
  const nn::Mlp net = nn::mlp({784, 256, 10}, relu);
  const Params params = net.init(Key(0));
  expect_refused(ErrorCode::kShape, [&] {
    compile(net)(params, numbers({Dtype::kF32, {2, 512}}, Key(0)));
  });
}

}  // namespace
}  // namespace limpid
