// Functions in Python. Depends on plan.h.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plan.h"
#include "value.h"

namespace limpid::python {

// A Function, and its plan when it has been called on arrays.
struct FunctionObject {
  Function function;
  std::shared_ptr<Plan> plan;
  std::vector<std::string> places;  // "function 'f': input 'x'", for messages; made with the plan
};

py::object to_python(Function function);
bool is_function(py::handle object);
// Throws TypeError for another object; `what` opens the message.
const Function& function_of(py::handle object, const char* what);

// "f32[4, 2]". Throws ValueError.
Type type_from(const std::string& text);

// Tensors by name, from a mapping, nested ones joined by dots, or from Params. Constants: they are
// copied where somebody else may write to them.
Params params_from(py::handle object, const char* what);
py::object to_python(const Params& params);
// Values by name, of this Builder.
Args args_from(Builder& builder, py::handle object, const char* what);
py::object to_python(const Args& args);

// The result of a call, or a tuple of its results.
template <class Result>
py::object one_or_all(std::vector<Result> results) {
  if (results.size() == 1) return to_python(std::move(results.front()));
  py::tuple all(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) all[i] = to_python(std::move(results[i]));
  return all;
}

// 16 digits.
std::string hex(std::uint64_t hash);

}  // namespace limpid::python
