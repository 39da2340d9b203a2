// The emitted cases of the tests: every op, and networks of every kind.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "limpid/core/params.h"
#include "limpid/function/function.h"

namespace limpid::emit_test {

struct Case {
  std::string name;
  Function function;
  Params params;
  std::vector<std::vector<Tensor>> inputs;  // one run each
  std::map<std::string, std::vector<std::string>> element_names = {};
};

// All examples of all ops of all_ops(), combined into a few Functions.
std::vector<Case> op_cases();
// Networks: forward, gradients, narrow weights, random functions.
std::vector<Case> network_cases();

}  // namespace limpid::emit_test
