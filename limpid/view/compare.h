// Two models, or one model with and without edits: where their numbers part, to the bit; and two
// runs of training. Leans on subject.h and runs.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "limpid/view/numbers.h"
#include "limpid/view/runs.h"
#include "limpid/view/subject.h"

namespace limpid::view {

// Two tensors of one type with other bits.
struct Difference {
  std::string name = {}, op = {}, layer = {};
  Shape shape = {};
  std::int64_t differ = 0, count = 0;  // elements of other bits, of all
  double largest = 0;                  // |a - b|, of finite ones
  double largest_ulp = 0;              // units in the last place, of floating ones
};

// The first element that differs.
struct FirstDifference {
  bool parameter = false;
  std::string name = {}, op = {};
  std::vector<std::int64_t> index = {};
  int bit = 0;  // the highest that differs; 0: the lowest of the number
  Exact a = {}, b = {};
};

struct Compared {
  std::vector<Difference> parameters = {}, values = {};
  std::vector<std::string> only_a = {}, only_b = {};  // values and parameters of one alone
  std::optional<FirstDifference> first = {};

  bool same() const {
    return parameters.empty() && values.empty() && only_a.empty() && only_b.empty();
  }
};

// The parameters; with inputs every value of the forward passes, too, in the order of the ops. The
// first difference is the first on the way of the computation. `most` bounds each list. Throws what
// compute() throws.
Compared compare(Session& session, const Subject& a, const Subject& b, std::int64_t most = 1000);
Json to_json(const Compared& compared);

// Nothing where all bits are equal. The tensors have one type.
std::optional<Difference> difference_of(const Tensor& a, const Tensor& b);

// Two runs step by step.
struct ComparedRuns {
  std::optional<std::int64_t> first_step = {};  // 0: before the first step
  std::string what = {};                        // "config: optimizer.lr", "loss", "layers.0.weight"
  std::optional<Exact> a = {}, b = {};
  struct Growth {
    std::int64_t step = 0;
    double difference = 0;  // of the losses
  };
  std::vector<Growth> growth = {};
  std::optional<Compared> detail = {};  // of the models after that step
};

// By their logs; with `recompute` by their models after each step, which finds a step that was not
// logged. Throws what Runs::at() throws.
ComparedRuns compare_runs(Session& session, const std::string& a, const std::string& b,
                          bool recompute);
Json to_json(const ComparedRuns& compared);

}  // namespace limpid::view
