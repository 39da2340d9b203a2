// The functions of limpid/ops as Python calls them: a table with the signature of each. Arrays in,
// arrays out; where a Value is among the arguments it is written into the Function under way.
// Depends on value.h and limpid/ops.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/function/op.h"
#include "limpid/ops/ops.h"
#include "value.h"

namespace limpid::python {

// Elements of an array; no data where they are not known.
struct Elements {
  Type type;
  const void* data = nullptr;
};

// The arguments of one call, in the order of the signature.
class Given {
 public:
  // `known` has the elements of those arguments that are no Values of code being traced.
  Given(std::string_view kinds, std::span<PyObject* const> arguments, Builder& builder,
        const std::vector<Value>& values, const std::vector<std::vector<Value>>& lists,
        const std::vector<Elements>& known, const char* where);

  Builder& builder() const { return builder_; }
  Value v(std::size_t i) const { return values_[i]; }  // V, N, and v, which may be missing
  const std::vector<Value>& all(std::size_t i) const { return lists_[i]; }  // L
  std::int64_t i(std::size_t i) const;                                      // I
  std::optional<std::int64_t> maybe_i(std::size_t i) const;                 // i
  double d(std::size_t i) const;                                            // D
  std::optional<double> maybe_d(std::size_t i) const;                       // d
  Value number(std::size_t i, Dtype dtype) const;       // D, as a constant with all of its digits
  bool b(std::size_t i) const;                          // B
  std::vector<std::int64_t> ints(std::size_t i) const;  // S
  std::optional<std::vector<std::int64_t>> axes(std::size_t i) const;  // A
  Dtype dtype(std::size_t i) const;                                    // T
  std::string text(std::size_t i) const;                               // W
  Reduction reduction(std::size_t i) const;                            // R

  // Throw IndexError or kInvalidArgument for indices, or labels, that are known and out of range:
  // of
  // [-size, size); of the classes, and not ignored. Those of traced code give NaN.
  void require_indices(std::size_t i, std::int64_t size) const;
  void require_labels(std::size_t i, std::int64_t classes,
                      std::optional<std::int64_t> ignored) const;

  bool is_value(std::size_t i) const;  // or an array, and not a number
  PyObject* object(std::size_t i) const { return arguments_[i]; }

 private:
  std::string_view kinds_;
  std::span<PyObject* const> arguments_;
  Builder& builder_;
  const std::vector<Value>& values_;
  const std::vector<std::vector<Value>>& lists_;
  const std::vector<Elements>& known_;
  const char* where_;
};

// One result, or several: a tuple.
struct Made {
  std::vector<Value> values;
  bool tuple = false;

  Made(Value value) : values{value} {}  // NOLINT(google-explicit-constructor)
  Made(std::vector<Value> all) : values(std::move(all)), tuple(true) {}  // NOLINT
};

struct FunctionRow {
  const char* name;
  const char* signature;  // "x, axis=-1", as Python writes it
  const char* kinds;      // a letter for each parameter: see Given
  Made (*call)(const Given& given);
  const char* about = nullptr;    // a line, where the record of an op of this name has not said it
  const char* example = nullptr;  // of its docstring: what is typed, and what comes
  const char* result = "Any";     // its type in Python
  const char* record =
      nullptr;  // the op that its docstring describes, if of another name; "": none
};

// op_table.cc, and op_table_arrays.cc: what users of NumPy and JAX look for.
std::span<const FunctionRow> function_rows();
std::span<const FunctionRow> array_function_rows();

}  // namespace limpid::python
