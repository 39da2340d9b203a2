// Workspace::run in a real-time thread: from the first call on it allocates nothing, takes no lock
// and makes no system call. Each case runs in a child process that the kernel watches: an
// unexpected system call ends the child and is named.
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <vector>

#include "limpid/limpid.h"
#include "tests/realtime/count_calls.h"

namespace limpid {
namespace {

// ---- a child process under watch

// The exit status of a child.
enum Verdict {
  kClean = 0,
  kSystemCall = 1,
  kAllocates = 2,
  kLocks = 3,
  kAsksTheSystem = 4,
  kNotWatched = 5
};

int to_parent = -1;

// Handler of SIGSYS: tells the parent which call it was.
void report_system_call(int, siginfo_t* info, void*) {
  const int number = info->si_syscall;
  (void)!write(to_parent, &number, sizeof number);
  _exit(kSystemCall);
}

// From here on, any other system call of any thread of this process is a SIGSYS, except those that
// report and exit.
bool watch_system_calls(std::initializer_list<int> expected) {
  struct sigaction action {};
  action.sa_sigaction = report_system_call;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSYS, &action, nullptr);
  std::vector<sock_filter> filter;
  filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  std::vector<int> allowed = {SYS_write, SYS_exit_group};
  allowed.insert(allowed.end(), expected);
  for (const int number : allowed) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
  sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

struct Watched {
  int verdict = -1;
  int system_call = -1;
};

// A child calls prepare(), then makes the returned call under watch.
Watched watch(const std::function<std::function<void()>()>& prepare,
              std::initializer_list<int> expected = {}) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    to_parent = ends[1];
    const std::function<void()> call = prepare();
    if (!watch_system_calls(expected)) _exit(kNotWatched);
    const std::size_t allocations = allocator_calls();
    const std::size_t locks = lock_calls();
    const std::size_t questions = sysconf_calls();
    call();
    _exit(allocator_calls() != allocations ? kAllocates
          : lock_calls() != locks          ? kLocks
          : sysconf_calls() != questions   ? kAsksTheSystem
                                           : kClean);
  }
  close(ends[1]);
  Watched watched;
  (void)!read(ends[0], &watched.system_call, sizeof watched.system_call);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) watched.verdict = WEXITSTATUS(status);
  return watched;
}

#define LIMPID_NEEDS_SECCOMP() \
  if (watch([] { return [] {}; }).verdict == kNotWatched) GTEST_SKIP() << "no seccomp here"

TEST(Watch, SeesWhatItLooksFor) {
  LIMPID_NEEDS_SECCOMP();
  EXPECT_EQ(watch([] { return [] {}; }).verdict, kClean);
  const Watched asked = watch([] { return [] { (void)getppid(); }; });
  EXPECT_EQ(asked.verdict, kSystemCall);
  EXPECT_EQ(asked.system_call, SYS_getppid);
  EXPECT_EQ(watch([] { return [] { (void)getppid(); }; }, {SYS_getppid}).verdict, kClean);
  static std::string text;
  EXPECT_EQ(watch([] { return [] { text.assign(1000, 'x'); }; }).verdict, kAllocates);
  static std::mutex mutex;
  EXPECT_EQ(watch([] { return [] { const std::lock_guard lock(mutex); }; }).verdict, kLocks);
  EXPECT_EQ(watch([] { return [] { (void)sysconf(_SC_LEVEL2_CACHE_SIZE); }; }).verdict,
            kAsksTheSystem);
}

// ---- functions of every kind of step

Tensor numbers(const Type& type, Key key) {
  if (type.dtype != Dtype::kF32) return Tensor::zeros(type);
  return Tensor::generate<float>(type.shape, [&](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = key.uniform(i) - 0.5f;
  });
}

// Returns when every thread of the pool is at work: one that still starts makes system calls.
void gather(ThreadPool& pool) {
  std::atomic<int> missing = pool.threads();
  const auto arrive = [](void* context, std::size_t, int) {
    auto& left = *static_cast<std::atomic<int>*>(context);
    --left;
    while (left > 0) {
    }
  };
  pool.run(static_cast<std::size_t>(pool.threads()), arrive, &missing);
}

// A run with everything at hand, repeated.
std::function<void()> runs_of(const Function& f, const ThreadPool::Options* threads) {
  struct State {
    std::unique_ptr<ThreadPool> pool;
    std::unique_ptr<Workspace> workspace;
    std::vector<Tensor> tensors;
    std::vector<std::vector<std::byte>> memory;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
  };
  auto s = std::make_shared<State>();
  if (threads) {
    s->pool = std::make_unique<ThreadPool>(*threads);
    gather(*s->pool);
  }
  CompileOptions options;
  if (threads) options.nanoseconds_worth_sharing = 0;
  const Executable executable = compile(f, options);
  s->workspace = std::make_unique<Workspace>(executable, s->pool.get());
  for (std::size_t i = 0; i < f.inputs().size(); ++i) {
    s->tensors.push_back(numbers(f.inputs()[i].type, Key(i)));
    s->inputs.push_back(s->tensors.back().bytes().data());
  }
  for (const Type& type : executable.output_types()) {
    s->memory.emplace_back(type.bytes());
    s->outputs.push_back(s->memory.back().data());
  }
  return [s] {
    for (int i = 0; i < 100; ++i) s->workspace->run(s->inputs, s->outputs);
  };
}

Function tiny_net() {
  const nn::Mlp net = nn::mlp({64, 64, 64, 1}, relu);
  return bind(net.function(), net.init(Key(0)));
}

Function batched_net() {
  const nn::Mlp net = nn::mlp({50, 40, 7}, gelu);
  return vmap(bind(net.function(), net.init(Key(0))), {0}, 33);
}

Function training_step() {
  return train::step_function(train::mlp_problem(nn::mlp({50, 40, 7}, relu, 0.2)), {optim::AdamW{}},
                              60);
}

Function attention_block() {
  const nn::MultiHeadAttention attention{.features = 16, .heads = 2, .causal = true};
  const Params params = attention.init(Key(0));
  std::vector<Input> inputs = nn::inputs_of(params);
  inputs.push_back({"x", {Dtype::kF32, {3, 5, 16}}});
  return trace("attention", inputs, [&](std::span<const Value> in) {
    const Value x = in.back();
    return std::vector<Value>{
        softmax(layer_norm(x + attention(nn::args_of(params, in.first(in.size() - 1)), x)))};
  });
}

nn::Gpt small_gpt() {
  nn::Gpt net = nn::llama_shaped();
  net.vocabulary = 11;
  net.context = 200;
  net.layers = 2;
  net.width = 24;
  return net;
}

Function decoding_step() {
  const nn::Gpt net = small_gpt();
  return bind(net.cached_function({.sequences = 3, .last = true}), net.init(Key(0)));
}

// Served by the reference arithmetic of the ops.
Function reference_steps() {
  return trace("reference", {{"x", {Dtype::kF64, {3, 4, 5}}}, {"k", {Dtype::kI64, {2}}}},
               [](std::span<const Value> in) {
                 const Value t = transpose(tanh(in[0]), {2, 0, 1});
                 return std::vector<Value>{softmax(t, 1), matmul(t, t, false, true), argmax(t, 0),
                                           random_bits(in[1], {3, 3})};
               });
}

struct Named {
  const char* name;
  Function (*function)();
};
void PrintTo(const Named& n, std::ostream* out) { *out << n.name; }

class RealTime : public testing::TestWithParam<Named> {};
INSTANTIATE_TEST_SUITE_P(All, RealTime,
                         testing::Values(Named{"tiny_net", tiny_net},
                                         Named{"batched_net", batched_net},
                                         Named{"training_step", training_step},
                                         Named{"attention_block", attention_block},
                                         Named{"decoding_step", decoding_step},
                                         Named{"reference_steps", reference_steps}),
                         [](const auto& named) { return std::string(named.param.name); });

TEST_P(RealTime, RunsOnTheCallersThread) {
  LIMPID_NEEDS_SECCOMP();
  const Watched watched = watch([] { return runs_of(GetParam().function(), nullptr); });
  EXPECT_EQ(watched.verdict, kClean) << "system call " << watched.system_call;
}

// Spinning threads get their work without a system call, too.
TEST_P(RealTime, RunsOnAPoolThatDoesNotSleep) {
  LIMPID_NEEDS_SECCOMP();
  const ThreadPool::Options options{
      .threads = 2, .pin_caller = true, .spin = std::chrono::hours{1}};
  const Watched watched = watch([&] { return runs_of(GetParam().function(), &options); });
  EXPECT_EQ(watched.verdict, kClean) << "system call " << watched.system_call;
}

TEST(RealTimeLanguageModel, ReadsATokenOfEverySequence) {
  LIMPID_NEEDS_SECCOMP();
  const Watched watched = watch([] {
    struct Talk {
      nn::LanguageModel model;
      nn::LanguageModel::Sequence sequences[2];
    };
    const nn::Gpt net = small_gpt();
    nn::LanguageModel model(net, net.init(Key(0)), {.sequences = 2});
    model.prepare();
    const auto talk = std::make_shared<Talk>(Talk{model, {model.join({}), model.join({})}});
    return [talk] {
      for (auto& sequence : talk->sequences) sequence.truncate(0);
      for (std::int32_t i = 0; i < 100; ++i) {
        talk->sequences[0].append(i % 11);
        talk->sequences[1].append(i * 7 % 11);
        talk->model.step();
      }
    };
  });
  EXPECT_EQ(watched.verdict, kClean) << "system call " << watched.system_call;
}

// Waking threads that sleep, and waiting for one that is late, takes the two system calls behind
// std::atomic::wait.
TEST_P(RealTime, WakesAPoolThatSleeps) {
  LIMPID_NEEDS_SECCOMP();
  const ThreadPool::Options options{
      .threads = 2, .pin_caller = true, .spin = std::chrono::microseconds{0}};
  const Watched watched =
      watch([&] { return runs_of(GetParam().function(), &options); }, {SYS_futex, SYS_sched_yield});
  EXPECT_EQ(watched.verdict, kClean) << "system call " << watched.system_call;
}

}  // namespace
}  // namespace limpid
