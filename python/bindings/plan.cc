#include "plan.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <map>

#include "limpid/function/arguments.h"
#include "limpid/kernels/isa.h"
#include "lock.h"
#include "results.h"
#include "signals.h"

namespace limpid::python {
namespace {

// Increases in a forked child: the threads of the parent's pools do not exist there.
std::atomic<std::uint64_t> process{1};
void forked() { ++process; }

// Below this a run takes less than a microsecond or two.
constexpr double kShort = 50'000;

Executable compile_unlocked(const Function& function, const std::shared_ptr<Packings>& packings) {
  return unlocked([&] { return compile(function, {.packings = packings}); });
}

std::size_t digest(const Function& f) {
  std::size_t h = f.nodes().size();
  const auto mix = [&](std::size_t part) { h = h * 0x9e3779b97f4a7c15ull + part; };
  for (const Node& node : f.nodes()) {
    mix(reinterpret_cast<std::uintptr_t>(node.op));
    for (const ValueId id : node.inputs) mix(static_cast<std::size_t>(id));
  }
  for (const Type& type : f.types()) {
    mix(static_cast<std::size_t>(type.dtype));
    for (const std::int64_t n : type.shape) mix(static_cast<std::size_t>(n));
  }
  return h;
}

std::size_t constant_bytes(const Function& f) {
  std::size_t bytes = 0;
  for (const Node& node : f.nodes())
    for (const auto& [name, value] : node.attributes)
      if (const Tensor* const constant = std::get_if<Tensor>(&value))
        bytes += constant->type().bytes();
  return bytes;
}

}  // namespace

ThreadPool* pool_of(int threads) {
  if (threads < 1 || threads > ThreadPool::kMaxThreads)
    throw py::value_error("threads: expected 1 to 1024, not " + std::to_string(threads));
  if (threads == 1) return nullptr;
  static const int watched = pthread_atfork(nullptr, nullptr, forked);
  static_cast<void>(watched);
  // By process and number of threads. Never destroyed: nothing waits for them at exit, and a forked
  // child cannot join its parent's threads.
  static auto* const pools = new std::map<std::pair<std::uint64_t, int>, ThreadPool*>;
  ThreadPool*& pool = (*pools)[{process, threads}];
  if (!pool) pool = new ThreadPool({.threads = threads});
  return pool;
}

double work_of(const Function& function) {
  double work = 0;
  for (const Node& node : function.nodes()) {
    const Function::CallTypes types = function.call_types(node);
    const Call call{*node.op, types.inputs, types.outputs, node.attributes, node.scope};
    work += static_cast<double>(node.op->flops(call));
    for (const Type& type : types.outputs) work += static_cast<double>(type.shape.elements());
  }
  return work;
}

Plan::Plan(Function function, int threads, std::shared_ptr<Packings> packings)
    : function_(std::move(function)),
      executable_(compile_unlocked(function_, std::move(packings))),
      types_(executable_.output_types()),
      threads_(threads),
      short_(work_of(function_) < kShort) {
  static_cast<void>(pool_of(threads));
}

std::vector<Tensor> Plan::operator()(std::span<const Leaf> inputs) {
  const std::vector<Input>& wanted = function_.inputs();
  bool fits = inputs.size() == wanted.size();
  for (std::size_t i = 0; fits && i < inputs.size(); ++i) fits = inputs[i].type == wanted[i].type;
  if (!fits) {
    std::vector<Tensor> tensors;
    for (const Leaf& leaf : inputs) tensors.push_back(tensor_of(leaf));
    check_arguments(function_.name(), wanted, tensors);
  }
  std::vector<const void*> pointers;
  pointers.reserve(inputs.size());
  for (const Leaf& leaf : inputs) pointers.push_back(leaf.bytes());
  return run(pointers);
}

std::vector<Tensor> Plan::run(std::span<const void* const> inputs) {
  Place place;
  while (!idle_.empty() && !place.workspace) {
    if (idle_.back().process == process) place = std::move(idle_.back());
    idle_.pop_back();
  }
  if (!place.workspace) {
    place.process = process;
    place.workspace = std::make_unique<Workspace>(executable_, pool_of(threads_));
  }
  bool whole = true;
  std::vector<Tensor> results;
  if (short_) {
    results = make_results(types_,
                           [&](std::span<void* const> out) { place.workspace->run(inputs, out); });
  } else {
    StopCheck check = signal_check();
    const Unlocked unlocked;
    results = make_results(types_, [&](std::span<void* const> out) {
      whole = place.workspace->run(inputs, out, check);
    });
  }
  idle_.push_back(std::move(place));
  if (!whole) throw py::error_already_set();
  return results;
}

std::shared_ptr<Plan> kept_plan(const Function& function) {
  // More plans than a program needs. The bytes are bounded, too: constants and packed weights may
  // be those of a large model.
  constexpr std::size_t kMost = 256, kMostBytes = std::size_t{256} << 20;
  struct Kept {
    std::size_t digest, bytes;
    std::shared_ptr<Plan> plan;
  };
  // Guarded by the GIL; the most recently used one first.
  static auto* const all = new std::list<Kept>;
  static std::size_t bytes = 0;
  const std::size_t wanted = digest(function);
  const auto found = std::ranges::find_if(*all, [&](const Kept& kept) {
    return kept.digest == wanted && kept.plan->function() == function;
  });
  if (found != all->end()) {
    all->splice(all->begin(), *all, found);
    return found->plan;
  }
  // Another thread may run Python code while this one compiles.
  const auto packings = std::make_shared<Packings>();
  auto plan = std::make_shared<Plan>(function, 1, packings);
  const std::size_t own =
      constant_bytes(function) + packings->bytes() + plan->executable().workspace_bytes();
  all->push_front({wanted, own, plan});
  bytes += own;
  std::list<Kept> ended;  // destroyed last: that may run Python code, which may call this again
  while (all->size() > 1 && (all->size() > kMost || bytes > kMostBytes)) {
    bytes -= all->back().bytes;
    ended.splice(ended.end(), *all, std::prev(all->end()));
  }
  return plan;
}

}  // namespace limpid::python
