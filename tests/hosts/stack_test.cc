// Threads with a small stack: what runs a plan needs at most 64 KiB, what writes and compiles one
// at most 256 KiB.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cstring>
#include <functional>

#include "limpid/limpid.h"

namespace limpid::hosts {
namespace {

constexpr std::size_t kToRun = 64 << 10, kToCompile = 256 << 10;

// Runs code on a stack of `bytes` and returns how many of them it used, found by the lowest byte
// that changed. A protected page lies beyond the end of the stack.
std::size_t used_of(std::size_t bytes, const std::function<void()>& code) {
  constexpr std::size_t kPage = 4096;
  constexpr unsigned char kFresh = 0xa5;
  void* const memory =
      mmap(nullptr, bytes + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, kPage, PROT_NONE);
  auto* const stack = static_cast<unsigned char*>(memory) + kPage;
  std::memset(stack, kFresh, bytes);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  EXPECT_EQ(pthread_attr_setstack(&attributes, stack, bytes), 0);
  pthread_t thread{};
  const auto start = [](void* context) -> void* {
    (*static_cast<const std::function<void()>*>(context))();
    return nullptr;
  };
  EXPECT_EQ(pthread_create(&thread, &attributes, start, const_cast<std::function<void()>*>(&code)),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  std::size_t untouched = 0;
  while (untouched < bytes && stack[untouched] == kFresh) ++untouched;
  munmap(memory, bytes + kPage);
  return bytes - untouched;
}

Tensor numbers(const Type& type) {
  if (type.dtype == Dtype::kI32) return Tensor::zeros(type);
  return Tensor::generate<float>(type.shape, [](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = Key(1).uniform(i) - 0.5f;
  });
}

struct Kind {
  std::string name;
  std::vector<Input> inputs;
  std::function<std::vector<Value>(std::span<const Value>)> code;
};

std::vector<Kind> kinds() {
  const auto f32 = [](Shape shape) { return Type{Dtype::kF32, shape}; };
  const Type heads = f32({2, 3, 70, 16});
  std::vector<Kind> all;
  all.push_back({"elementwise", {{"x", f32({40, 1000})}}, [](std::span<const Value> in) {
                   return std::vector<Value>{exp(tanh(in[0]) * 0.5) + sin(in[0])};
                 }});
  all.push_back({"softmax", {{"x", f32({40, 5000})}}, [](std::span<const Value> in) {
                   return std::vector<Value>{softmax(in[0], -1), sum(in[0], {0})};
                 }});
  all.push_back({"sort", {{"x", f32({7, 3000})}}, [](std::span<const Value> in) {
                   return std::vector<Value>{argsort(in[0])};
                 }});
  for (const std::int64_t rows : {1, 3, 70, 300})
    all.push_back(
        {"a product of " + std::to_string(rows) + " rows",
         {{"x", f32({rows, 300})}, {"w", f32({300, 500})}},
         [](std::span<const Value> in) { return std::vector<Value>{relu(matmul(in[0], in[1]))}; }});
  all.push_back({"300 layers", {{"x", f32({2, 8})}}, [](std::span<const Value> in) {
                   const auto loss = [](Value x) {
                     Value y = x;
                     for (int i = 0; i < 300; ++i) y = tanh(y * 1.5) + x;
                     return sum(y);
                   };
                   return std::vector<Value>{grad(loss)(in[0])};
                 }});
  all.push_back(
      {"attention", {{"q", heads}, {"k", heads}, {"v", heads}}, [](std::span<const Value> in) {
         return std::vector<Value>{scaled_dot_product_attention(in[0], in[1], in[2])};
       }});
  all.push_back({"the gradient of attention",
                 {{"q", heads}, {"k", heads}, {"v", heads}},
                 [](std::span<const Value> in) {
                   const auto loss = [&](Value q) {
                     return sum(scaled_dot_product_attention(q, in[1], in[2]));
                   };
                   return std::vector<Value>{grad(loss)(in[0])};
                 }});
  return all;
}

TEST(Stack, OfARunTakesAtMost64KiB) {
  for (const Kind& kind : kinds()) {
    const Function f = trace("f", kind.inputs, kind.code);
    std::vector<Tensor> in;
    for (const Input& input : f.inputs()) in.push_back(numbers(input.type));
    for (const kernels::Isa isa : kernels::available_isas()) {
      const Executable executable = compile(f, {isa});
      const std::vector<Tensor> expected = executable(in);
      std::vector<Tensor> got;
      const std::size_t used = used_of(kToRun, [&] { got = executable(in); });
      EXPECT_GT(used, 0u);
      RecordProperty(kind.name + " " + std::string(name(isa)), std::to_string(used));
      ASSERT_EQ(got.size(), expected.size()) << kind.name;
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_TRUE(got[i].same_bits(expected[i])) << kind.name << ", " << name(isa);
    }
  }
}

TEST(Stack, OfQuantizedWeightsAndTextTakesAtMost64KiB) {
  const nn::Gpt gpt{.vocabulary = 60, .context = 32, .layers = 2, .width = 32};
  const Params params = gpt.init(Key(0));
  for (const Dtype to : {Dtype::kF32, Dtype::kI8, Dtype::kBf16}) {
    const Params narrow =
        to == Dtype::kF32 ? params : quantize(gpt.function(), params, {.to = to}).params;
    nn::LanguageModel model(gpt, narrow, {});
    model.prepare();
    auto sequence = model.join(std::vector<std::int32_t>(20, 3));
    used_of(kToRun, [&] {
      model.step();
      sequence.append(7);
      model.step();
    });
    EXPECT_TRUE(sequence.ready()) << name(to);
  }
}

TEST(Stack, OfWritingAndCompilingTakesAtMost256KiB) {
  for (const Kind& kind : kinds()) {
    std::vector<Tensor> got;
    used_of(kToCompile, [&] {
      const Function f = trace("f", kind.inputs, kind.code);
      std::vector<Tensor> in;
      for (const Input& input : f.inputs()) in.push_back(numbers(input.type));
      got = compile(f)(in);
    });
    EXPECT_FALSE(got.empty()) << kind.name;
  }
}

TEST(Stack, OfTrainingTakesAtMost256KiB) {
  std::string reason;
  used_of(kToCompile, [&] {
    const nn::Gpt gpt{.vocabulary = 60, .context = 8, .layers = 4, .width = 16};
    const Params params = gpt.init(Key(0));
    auto loss = [&](const Args& p, Value x, Value y) {
      return mean(softmax_cross_entropy(gpt(p, x), y));
    };
    const optim::Adam adam;
    auto step = compile(optim::step(loss, adam));
    const Tensor ids = Tensor::zeros({Dtype::kI32, {4, 8}});
    step(params, adam.init(params), 0.01, ids, ids);
    train::TrainConfig config;
    config.data = "moons,count=40";
    config.epochs = 1;
    reason = train::Run(config).train().reason;
  });
  EXPECT_EQ(reason, "finished");
}

}  // namespace
}  // namespace limpid::hosts
