// Predictor: a model that is made ready once, and then run on any number of examples, from any
// number of threads. Leans on executable.h, packings.h and vmap.
//
//   const Predictor predict(net.function(), params);
//   const Tensor logits = predict({images})[0];  // [N, 784] to [N, 10], for every N
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "limpid/compile/executable.h"
#include "limpid/core/params.h"

namespace limpid {

// Keeps a plan for each of a few numbers of rows: the powers of two up to the most, the most, and
// those of prepare(); of more than 64, those used last. A call takes the plan of its number of
// rows; else one of up to half as many rows more, with zeros in those; else it is cut into pieces.
// A row does not depend on the others, so that none of this changes a bit. A plan is compiled when
// it is first needed, and all plans share the packed weights.
class Predictor {
 public:
  struct Options {
    std::int64_t most_rows = 256;  // that run at once
    ThreadPool* pool = nullptr;    // shares the work of a call; must outlive the Predictor
    int most_runs = 8;             // at the same time, by different threads; others wait
    // Inputs that come without the batch dimension, the same for all rows.
    std::vector<std::string> shared = {};
    // The instruction set, Packings to share with others. Takes no donations.
    CompileOptions compile = {};
  };

  // `of_one` is a Function of one example, `params` are bound to its inputs of their names. Throws
  // what bind() throws, kNotFound for a shared input that there is not, and kInvalidArgument for
  // sizes below 1, donations, and where every input is shared.
  Predictor(const Function& of_one, const Params& params, const Options& options);
  Predictor(const Function& of_one, const Params& params) : Predictor(of_one, params, Options{}) {}
  ~Predictor();
  Predictor(Predictor&&) noexcept;
  Predictor& operator=(Predictor&&) noexcept;

  // The inputs of one example that are not bound, in the order in which calls take them.
  const std::vector<Input>& inputs() const;

  // The outputs [N, ...] for inputs [N, ...] of one N, which may be 0. Throws kInvalidArgument,
  // kShape or kDtype, naming the input, if they do not fit. Safe to call from many threads at once.
  std::vector<Tensor> operator()(std::span<const Tensor> inputs) const;
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const {
    return (*this)(std::span(inputs));
  }

  // Compiles plans of exactly so many rows. Throws kInvalidArgument unless they are from 1 to the
  // most.
  void prepare(std::span<const std::int64_t> rows);
  void prepare(const std::vector<std::int64_t>& rows) { prepare(std::span(rows)); }

  // A plan that was compiled, and what was allocated to run it.
  struct Plan {
    std::int64_t rows = 0;
    int workspaces = 0;  // the most runs that there were at once
    std::size_t bytes = 0;
  };
  // By number of rows.
  std::vector<Plan> plans() const;
  // Bytes of packed weights and of all plans' workspaces.
  std::size_t bytes() const;

 private:
  class Plans;
  std::unique_ptr<Plans> plans_;
};

}  // namespace limpid
