// compile(code): C++ code on Values becomes a function on tensors, traced and compiled when it
// first meets tensors of new types, as jax.jit does.
//
//   auto logits = compile(net)(params, images);
//   auto [loss, gradients] = compile(value_and_grad(loss_of))(params, images, labels);
#pragma once

#include <array>
#include <concepts>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include "limpid/compile/executable.h"
#include "limpid/core/params.h"
#include "limpid/function/builder.h"
#include "limpid/transforms/grad.h"

namespace limpid {

// Marks code whose first result is a loss to be differentiated by its parameters.
template <class Code>
struct ValueAndGrad {
  Code code;
};

// code(const Args& params, Value...) returns a floating scalar.
template <class Code>
ValueAndGrad<Code> value_and_grad(Code code) {
  return {std::move(code)};
}

// A loss, and its gradient by every parameter, under the parameters' names.
struct ValueAndGradients {
  Tensor value;
  Params gradients;
};

namespace detail {

// Runs code once on Values: the parameters by name, then `count` tensors named "0", "1", ...
template <class Code, std::size_t count>
Function trace_code(const Code& code, const std::vector<Input>& params,
                    const std::array<Type, count>& types) {
  std::vector<Input> inputs = params;
  for (std::size_t i = 0; i < count; ++i) inputs.push_back({std::to_string(i), types[i]});
  return trace("compiled", inputs, [&](std::span<const Value> in) {
    Args args;
    for (std::size_t i = 0; i < params.size(); ++i) args.set(params[i].name, in[i]);
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
      return std::vector<Value>{code(args, in[params.size() + i]...)};
    }
    (std::make_index_sequence<count>());
  });
}

// What a kind of code is traced to, and how its results are handed out.
template <class Code>
struct Traced {
  template <std::size_t count>
  static Function trace(const Code& code, const std::vector<Input>& params,
                        const std::array<Type, count>& types) {
    return trace_code(code, params, types);
  }
  static Tensor results(std::vector<Tensor> outputs, const Params&) { return outputs.front(); }
};

template <class Code>
struct Traced<ValueAndGrad<Code>> {
  template <std::size_t count>
  static Function trace(const ValueAndGrad<Code>& marked, const std::vector<Input>& params,
                        const std::array<Type, count>& types) {
    std::vector<std::size_t> wrt(params.size());
    for (std::size_t i = 0; i < wrt.size(); ++i) wrt[i] = i;
    return limpid::value_and_grad(trace_code(marked.code, params, types), wrt);
  }
  static ValueAndGradients results(std::vector<Tensor> outputs, const Params& params) {
    ValueAndGradients result{outputs.front(), {}};
    std::size_t i = 1;
    for (const auto& [name, p] : params) result.gradients.set(name, outputs[i++]);
    return result;
  }
};

}  // namespace detail

// Keeps one Executable for every combination of types it has met. Used by one thread at a time.
template <class Code>
class Compiled {
 public:
  Compiled(Code code, ThreadPool* pool) : code_(std::move(code)), pool_(pool) {}

  // A Tensor; for value_and_grad, ValueAndGradients. Throws what tracing, differentiating and
  // running the code throw.
  template <std::convertible_to<Tensor>... Tensors>
  auto operator()(const Params& params, const Tensors&... tensors) {
    std::vector<Tensor> inputs = params.values();
    (inputs.push_back(tensors), ...);
    const Executable& executable =
        executable_of(params, std::array<Type, sizeof...(Tensors)>{tensors.type()...});
    return detail::Traced<Code>::results(executable(inputs, pool_), params);
  }

 private:
  template <std::size_t count>
  const Executable& executable_of(const Params& params, const std::array<Type, count>& types) {
    std::vector<Input> inputs;
    std::string key;
    for (const auto& [name, p] : params) {
      inputs.push_back({name, p.type()});
      key += name + ":" + to_string(p.type()) + ";";
    }
    for (const Type& t : types) key += to_string(t) + ";";
    const auto found = executables_.find(key);
    if (found != executables_.end()) return found->second;
    const Function function = detail::Traced<Code>::trace(code_, inputs, types);
    return executables_.emplace(std::move(key), compile(function)).first->second;
  }

  Code code_;
  ThreadPool* pool_;
  std::map<std::string, Executable> executables_;
};

// Anything that is called with parameters and Values: a layer, a model, a lambda, value_and_grad of
// one.
template <class Code>
requires(!std::convertible_to<Code, Function>) Compiled<Code> compile(Code code,
                                                                      ThreadPool* pool = nullptr) {
  return {std::move(code), pool};
}

}  // namespace limpid
