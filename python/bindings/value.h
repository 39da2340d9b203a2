// Values in Python, and Python code that is traced. Depends on tree.h and on limpid/function.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "limpid/function/builder.h"
#include "tree.h"

namespace limpid::python {

bool is_value(py::handle object);
const Value& value_of(py::handle object);
py::object to_python(const Value& value);

// The Function that this thread is writing, the innermost one; nullptr where there is none.
Builder* under_way();

// A Value of the innermost Function: the object itself where it is one, else a constant.
Value value_in(Builder& builder, py::handle object, const char* where);

// What Python code becomes.
struct TracedCode {
  Function function;            // its inputs: the leaves of the arguments, then `captured`
  std::vector<Value> captured;  // Values of the Functions around
  Tree result;
};

// Calls code(*arguments) once on Values of these types in the places of the leaves of `arguments`,
// a tuple. `inside` of the Function under way it may capture Values of it.
TracedCode trace_code(const py::object& code, const Tree& arguments, const std::vector<Type>& types,
                      const std::string& name, const std::vector<std::string>& argument_names,
                      bool inside, std::vector<std::string> output_names = {});

}  // namespace limpid::python
