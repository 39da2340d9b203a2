// Compares two models, or one model with and without edits, bit for bit; and two training runs.
// Depends on subject.h and runs.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "limpid/view/numbers.h"
#include "limpid/view/runs.h"
#include "limpid/view/subject.h"

namespace limpid::view {

// A tensor that differs; both have the same type.
struct Difference {
  std::string name = {}, op = {}, layer = {};
  Shape shape = {};
  std::int64_t differ = 0, count = 0;  // number of elements that differ, of all
  double largest = 0;                  // the largest |a - b| of finite elements
  double largest_ulp = 0;              // the same in ulp, for floating-point dtypes
};

// The first element that differs.
struct FirstDifference {
  bool parameter = false;
  std::string name = {}, op = {};
  std::vector<std::int64_t> index = {};
  int bit = 0;  // the highest differing bit; 0 is the lowest bit of the number
  Exact a = {}, b = {};
};

struct Compared {
  std::vector<Difference> parameters = {}, values = {};
  std::vector<std::string> only_a = {}, only_b = {};  // values and parameters that only one has
  std::optional<FirstDifference> first = {};
  bool same = true;
};

// Compares the parameters and, if there are inputs, every value of the forward passes, in the order
// of the ops. `first` is the first difference in the order of the computation. `most` bounds each
// list. Throws what compute() throws.
Compared compare(Session& session, const Subject& a, const Subject& b, std::int64_t most = 1000);
Json to_json(const Compared& compared);

// nullopt if all bits are equal. Requires the same type.
std::optional<Difference> difference_of(const Tensor& a, const Tensor& b);

// The comparison of two runs.
struct ComparedRuns {
  std::optional<std::int64_t> first_step = {};  // 0: before the first step
  std::string what = {};                        // "loss", "layers.0.weight"
  std::optional<Exact> a = {}, b = {};
  struct Growth {
    std::int64_t step = 0;
    double difference = 0;  // |difference of the losses|
  };
  std::vector<Growth> growth = {};
  std::int64_t compared = 0;            // steps in both logs
  std::vector<std::string> keys = {};   // where their configurations differ
  std::optional<Compared> detail = {};  // of the models after the first step that differs
};

// Compares two runs by their logs. With `recompute`, compares the models after each step, which
// also finds steps that are not in the log. Throws what Runs::at() throws.
ComparedRuns compare_runs(Session& session, const std::string& a, const std::string& b,
                          bool recompute);
Json to_json(const ComparedRuns& compared);

}  // namespace limpid::view
