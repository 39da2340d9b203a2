// compile(code): C++ code on Values becomes a function on tensors, traced and compiled when it
// first meets tensors of new types, as jax.jit does. Groups of named tensors go in and come out.
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

// The tensors of a call. Those of a group have names.
struct Arguments {
  std::vector<Tensor> tensors;
  std::vector<std::string_view> names;  // "" outside of a group

  void add(const Params& group) {
    for (const auto& [name, tensor] : group) add(tensor, name);
  }
  template <class... Parts>
  void add(const std::tuple<Parts...>& parts) {
    std::apply([&](const auto&... each) { (add(each), ...); }, parts);
  }
  template <class One>
  void add(const One& one) {
    add(Tensor(tensor_of(one)), "");
  }
  void add(Tensor tensor, std::string_view name) {
    tensors.push_back(std::move(tensor));
    names.push_back(name);
  }
};

// Code made ready for arguments of some types.
struct Traced {
  Function function;
  std::any result;  // what the code returned: the form of its results, and the names in it
};

// A plan for each combination of names and types, of those used last.
class Plans {
 public:
  explicit Plans(ThreadPool* pool);
  Plans(Plans&&) noexcept;
  Plans& operator=(Plans&&) noexcept;
  ~Plans();

  // Runs the plan for arguments like these; `trace` is called where there is none. `result` is that
  // of the trace.
  std::vector<Tensor> run(const Arguments& arguments, const std::function<Traced()>& trace,
                          const std::any*& result);

 private:
  class Plan;
  struct How {
    ThreadPool* pool;
    std::shared_ptr<Packings> packings;  // of all plans
  };
  struct Signature;

  std::unique_ptr<PlanStore<Signature, Plan>> plans_;
  How how_;
};

}  // namespace detail

// What it costs and keeps. The first call with arguments of new names, types or numbers of them
// traces and compiles the code, which takes milliseconds. Every later one finds its plan by
// comparing names and types; no text is built. The 64 plans used last are kept, each with the
// memory for its results between the steps (Executable::workspace_bytes).
//
// If all groups of a call are the same objects as in the call before, as those of a trained model
// are, a second plan is compiled that has them as constants: it packs weights once, and keeps the
// parameters alive. It is used while they stay the same objects and dropped when others come; from
// then on twice as many such calls as before are needed to make it again, so that training, which
// has new parameters in every step, never pays for it. The bits are the same either way.
//
// Used by one thread at a time.
template <class C>
class Compiled {
 public:
  Compiled(C code, ThreadPool* pool) : code_(std::move(code)), plans_(pool) {}

  // Takes a tensor, a number or a Key for each Value of the code, Params for Args, tuples for
  // tuples; gives a Tensor, Params or a std::tuple of such, as the code does. Throws what tracing,
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

 private:
  C code_;
  detail::Plans plans_;
};

// Anything that is called with Values and Args: a layer, a model, a lambda, a gradient of one.
template <class C>
requires(!std::convertible_to<C, Function>) Compiled<C> compile(C code,
                                                                ThreadPool* pool = nullptr) {
  return {std::move(code), pool};
}

}  // namespace limpid
