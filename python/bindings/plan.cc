#include "plan.h"

#include <pthread.h>

#include <atomic>
#include <map>

#include "limpid/compile/plan_store.h"
#include "limpid/function/arguments.h"
#include "limpid/kernels/isa.h"

namespace limpid::python {
namespace {

// Grows in a child process: the threads of its parent's pools are not there.
std::atomic<std::uint64_t> process{1};
void forked() { ++process; }

// Below this a run takes less than a microsecond or two.
constexpr double kShort = 50'000;

Executable compile_unlocked(const Function& function, std::shared_ptr<Packings> packings) {
  const py::gil_scoped_release unlocked;
  return compile(function, {.packings = std::move(packings)});
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

}  // namespace

ThreadPool* pool_of(int threads) {
  if (threads < 1 || threads > ThreadPool::kMaxThreads)
    throw py::value_error("threads: expected 1 to 1024, not " + std::to_string(threads));
  if (threads == 1) return nullptr;
  static const int watched = pthread_atfork(nullptr, nullptr, forked);
  static_cast<void>(watched);
  // By process and number. Never ended: at exit nobody would wait for them, and a child cannot.
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
  const auto compute = [&] {
    return generate_together(
        types_, [&](std::span<void* const> out) { place.workspace->run(inputs, out); });
  };
  std::vector<Tensor> results;
  if (short_) {
    results = compute();
  } else {
    const py::gil_scoped_release unlocked;
    results = compute();
  }
  idle_.push_back(std::move(place));
  return results;
}

std::shared_ptr<Plan> kept_plan(const Function& function) {
  // Guarded by the interpreter's lock.
  static auto* const plans =
      new PlanStore<std::pair<std::size_t, Function>, std::shared_ptr<Plan>>(256);
  return plans->get(std::pair(digest(function), function),
                    [&] { return std::make_shared<Plan>(function, 1); });
}

}  // namespace limpid::python
