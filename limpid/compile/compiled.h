// compile(code): turns C++ code on Values into a function on tensors, as jax.jit does. It is traced
// and compiled at the first call with new types. Arguments and results may be groups of named
// tensors.
//
//   auto logits = compile(net)(params, images);
//   auto step = compile([&](const Args& p, Value x, Value y) {
//     const auto [value, gradients] = value_and_grad(loss)(p, x, y);
//     return std::tuple{p - 0.1 * gradients, value};
//   });
//   std::tie(params, value) = step(params, images, labels);
#pragma once

#include <any>
#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "limpid/compile/executable.h"
#include "limpid/compile/plan_store.h"
#include "limpid/function/call.h"

namespace limpid {

namespace detail {

// Fails to compile, with a sentence about the call of code that is not possible.
template <class C, class... Groups>
constexpr void explain_call() {
  static_assert((TensorGroup<Groups> && ...),
                "a compiled function takes tensors, numbers, Keys, Params and tuples of these");
  if constexpr ((TensorGroup<Groups> && ...)) {
    constexpr bool kCallable = std::invocable<const C&, Inside<Groups>...>;
    static_assert(
        kCallable,
        "the code cannot be called with such arguments: it takes a Value for each tensor, "
        "number or Key, a const Args& for each Params, and is called as const");
    static_assert(!kCallable, "the code must return a Value, Args, or a std::tuple of these");
  }
}

// The tensors of a call. A tensor of a group has a name.
struct Arguments {
  std::vector<Tensor> tensors;
  std::vector<std::string_view> names;  // "" outside of a group
  std::string form;                     // a dot for each tensor, in braces of its groups and tuples

  void add(const Params& group) {
    form += '{';
    for (const auto& [name, tensor] : group) add(tensor, name);
    form += '}';
  }
  template <class... Parts>
  void add(const std::tuple<Parts...>& parts) {
    form += '(';
    std::apply([&](const auto&... each) { (add(each), ...); }, parts);
    form += ')';
  }
  template <class One>
  void add(const One& one) {
    add(Tensor(tensor_of(one)), "");
  }
  void add(Tensor tensor, std::string_view name) {
    tensors.push_back(std::move(tensor));
    names.push_back(name);
    form += '.';
  }
};

// Code traced for arguments of certain types.
struct Traced {
  Function function;
  std::any result;  // the return value of the code: the structure and names of its results
};

// The most recently used plans: one for each combination of forms, names and types.
class Plans {
 public:
  explicit Plans(ThreadPool* pool);
  Plans(Plans&&) noexcept;
  Plans& operator=(Plans&&) noexcept;
  ~Plans();

  // Runs the plan for the names and types of these arguments; calls `trace` if there is none. Sets
  // `result` to Traced::result of that plan.
  std::vector<Tensor> run(const Arguments& arguments, const std::function<Traced()>& trace,
                          const std::any*& result);

 private:
  class Plan;
  struct How {
    ThreadPool* pool;
    std::shared_ptr<Packings> packings;    // shared by all plans, as is
    std::shared_ptr<SharedMemory> memory;  // that of their runs, one at a time
  };
  struct Signature;

  std::unique_ptr<PlanStore<Signature, Plan>> plans_;
  How how_;
};

}  // namespace detail

// The result of compile(code). The first call with a new combination of arguments (their number,
// groups, names or types) traces and compiles the code, which takes milliseconds. Later calls find
// the plan by comparing names and types. The 64 most recently used plans are kept, with one
// workspace for all of them.
//
// If all groups of a call are the same objects as in the previous call, as with a trained model, a
// second plan is compiled with these groups as constants: it packs the weights once, and keeps the
// parameters alive. It is used as long as the groups stay the same objects, and dropped when they
// change. Each time it is dropped, the number of such calls before it is compiled again doubles. So
// training, with new parameters in every step, hardly pays for it. Both plans give the same bits.
//
// Not thread-safe: only one thread at a time may call it.
template <class C>
class Compiled {
 public:
  Compiled(C code, ThreadPool* pool) : code_(std::move(code)), plans_(pool) {}

  // Takes a Tensor, number or Key where the code takes a Value, Params for Args, and tuples for
  // tuples. Likewise returns a Tensor, Params or a std::tuple of these. Throws what tracing,
  // compiling and running the code throw.
  template <TensorGroup... Groups>
  requires CodeOn<C, Groups...>
  auto operator()(const Groups&... groups) {
    detail::Arguments arguments;
    (arguments.add(groups), ...);
    using Result = std::invoke_result_t<const C&, detail::Inside<Groups>...>;
    const std::any* result = nullptr;
    const std::vector<Tensor> outputs = plans_.run(
        arguments,
        [&] {
          std::vector<Type> types;
          for (const Tensor& t : arguments.tensors) types.push_back(t.type());
          Builder builder("compiled");
          auto traced = detail::trace_code(builder, code_, types, groups...);
          return detail::Traced{std::move(traced.function), std::move(traced.result)};
        },
        result);
    std::size_t next = 0;
    return with_leaves(*std::any_cast<std::decay_t<Result>>(result), outputs, next);
  }
  // Explains every other call.
  template <class... Groups>
  void operator()(const Groups&...) {
    detail::explain_call<C, Groups...>();
  }

 private:
  C code_;
  detail::Plans plans_;
};

// Compiles code: anything that can be called with Values and Args, such as a lambda, a layer, a
// model, or a gradient of one. The pool, if given, must outlive the result.
template <class C>
requires(!std::convertible_to<C, Function>) Compiled<C> compile(C code,
                                                                ThreadPool* pool = nullptr) {
  return {std::move(code), pool};
}

}  // namespace limpid
