// Predictor: prepares a model once, then runs it on any number of examples, from any number of
// threads. Depends on executable.h, packings.h and vmap.
//
//   const Predictor predict(net.function(), params);
//   const Tensor logits = predict({images})[0];  // [N, 784] to [N, 10], for every N
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "limpid/compile/executable.h"
#include "limpid/core/params.h"

namespace limpid {

// Keeps plans for a few batch sizes: the powers of two up to most_rows, most_rows itself, and the
// sizes given to prepare(). If there are more than 64, the least recently used are dropped. A call
// uses the plan of its batch size, or a plan with up to half as many rows more, padded with zeros;
// or it is split into several runs. Rows are independent, so this does not change any bits. A plan
// is compiled when it is first needed. All plans share the packed weights.
class Predictor {
 public:
  struct Options {
    std::int64_t most_rows = 256;  // the most rows of one run
    ThreadPool* pool = nullptr;    // threads for a call; must outlive the Predictor
    int most_runs = 8;  // the most runs at the same time, by different threads; further ones wait
    // Names of the inputs without a batch dimension, which all rows share.
    std::vector<std::string> shared = {};
    // Options for compile(). Donations are not allowed.
    CompileOptions compile = {};
  };

  // `of_one` is a Function of one example; `params` are bound to its inputs by name. Throws what
  // bind() throws; kNotFound for an unknown shared input; kInvalidArgument for sizes below 1, for
  // donations, and if every input is shared.
  Predictor(const Function& of_one, const Params& params, const Options& options);
  Predictor(const Function& of_one, const Params& params) : Predictor(of_one, params, Options{}) {}
  ~Predictor();
  Predictor(Predictor&&) noexcept;
  Predictor& operator=(Predictor&&) noexcept;

  // The inputs of one example that are not bound, in the order of a call's arguments.
  const std::vector<Input>& inputs() const;

  // Maps inputs [N, ...] to outputs [N, ...] for any N, including 0. Throws kInvalidArgument,
  // kShape or kDtype if the tensors do not match the inputs; the message names the input.
  // Thread-safe.
  std::vector<Tensor> operator()(std::span<const Tensor> inputs) const;
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const {
    return (*this)(std::span(inputs));
  }

  // As above, but `check` may end the call early; then there is no result.
  std::optional<std::vector<Tensor>> operator()(std::span<const Tensor> inputs,
                                                StopCheck& check) const;

  // Compiles plans for exactly these batch sizes. Throws kInvalidArgument unless each is from 1 to
  // most_rows.
  void prepare(std::span<const std::int64_t> rows);
  void prepare(const std::vector<std::int64_t>& rows) { prepare(std::span(rows)); }

  // A compiled plan and its memory.
  struct Plan {
    std::int64_t rows = 0;
    int workspaces = 0;  // the most runs so far at the same time
    std::size_t bytes = 0;
  };
  // The compiled plans, ordered by batch size.
  std::vector<Plan> plans() const;
  // Bytes of the packed weights and of all workspaces.
  std::size_t bytes() const;

 private:
  class Plans;
  std::unique_ptr<Plans> plans_;
};

}  // namespace limpid
