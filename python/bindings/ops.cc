// The functions of op_table.h and those ops that it leaves out, as functions of the module, with
// the docstrings that the records of limpid/ops give. Depends on op_table.h and plan.h.
#include <pybind11/eval.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "function.h"
#include "limpid/core/half.h"
#include "limpid/nn/activation.h"
#include "op_table.h"
#include "plan.h"

namespace limpid::python {
namespace {

constexpr std::string_view kValues = "VvNL";

bool is_number(PyObject* o) { return PyFloat_Check(o) || PyLong_Check(o); }

double number_of(PyObject* o) {
  const double value = PyFloat_AsDouble(o);
  if (value == -1 && PyErr_Occurred()) throw py::error_already_set();
  return value;
}

// The number as a scalar of the dtype, with all of its digits; nothing if the dtype lacks it.
std::optional<Leaf> scalar_of(Dtype dtype, PyObject* o) {
  if (dtype == Dtype::kF32) return number_leaf(dtype, static_cast<float>(number_of(o)));
  if (dtype == Dtype::kF64) return number_leaf(dtype, number_of(o));
  if (dtype == Dtype::kBf16) return number_leaf(dtype, to_bf16(number_of(o)));
  if (dtype == Dtype::kF16) return number_leaf(dtype, to_f16(number_of(o)));
  if (dtype == Dtype::kBool && PyBool_Check(o)) return number_leaf(dtype, o == Py_True);
  if (!PyLong_Check(o)) return {};
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (value == -1 && PyErr_Occurred()) throw py::error_already_set();
  const auto within = [&]<class T>(T) -> std::optional<Leaf> {
    if (overflow || !std::in_range<T>(value)) return {};
    return number_leaf(dtype, static_cast<T>(value));
  };
  if (dtype == Dtype::kI64) return within(std::int64_t{});
  if (dtype == Dtype::kI32) return within(std::int32_t{});
  if (dtype == Dtype::kI8) return within(std::int8_t{});
  if (dtype == Dtype::kU8) return within(std::uint8_t{});
  return {};
}

// A function of the module: its signature taken apart.
struct Row {
  std::string name, signature, kinds, doc;
  std::vector<std::string> parameters;
  std::vector<py::object> interned;  // their names
  std::vector<py::object> defaults;  // no object where one is required
  Made (*call)(const Given&) = nullptr;
  const Op* op = nullptr;         // what is called where `call` is not given
  const Op* described = nullptr;  // by its docstring
  PyMethodDef method = {};
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find(", ", begin);
    if (end == std::string::npos) end = text.size();
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 2;
  }
  return parts;
}

const char* kind_text(char kind);  // see the docstrings below
char kind_of(const AttributeSpec& a) { return "BIDSTCF"[static_cast<std::size_t>(a.kind)]; }

// "a", "b", ... for the inputs of an op, and its attributes by their names.
void describe(Row& row, const Op& op) {
  const auto add = [&](const std::string& parameter, char kind) {
    row.signature += (row.signature.empty() ? "" : ", ") + parameter;
    row.kinds += kind;
  };
  if (op.max_inputs > 8) {
    add("inputs", 'L');
  } else {
    for (int i = 0; i < op.max_inputs; ++i) {
      const std::string name =
          op.max_inputs == 1 ? "x" : std::string(1, static_cast<char>('a' + i));
      add(i < op.min_inputs ? name : name + "=None", i < op.min_inputs ? 'V' : 'v');
    }
  }
  for (const AttributeSpec& a : op.attributes) {
    // After optional inputs an attribute must have a default, too.
    const bool open = op.max_inputs > op.min_inputs && op.max_inputs <= 8;
    add(std::string(a.name) + (open ? "=None" : ""), kind_of(a));
  }
}

void set_attribute(Attributes& attributes, const AttributeSpec& a, const py::object& o) {
  const std::string name(a.name);
  switch (a.kind) {
    case AttributeKind::kBool:
      attributes.set(name, py::cast<bool>(o));
      break;
    case AttributeKind::kInteger:
      attributes.set(name, py::cast<std::int64_t>(o));
      break;
    case AttributeKind::kReal:
      attributes.set(name, number_of(o.ptr()));
      break;
    case AttributeKind::kIntegers: {
      std::vector<std::int64_t> all;
      for (const py::handle n : o) all.push_back(py::cast<std::int64_t>(n));
      attributes.set(name, std::move(all));
      break;
    }
    case AttributeKind::kDtype:
      attributes.set(name, dtype_from(o));
      break;
    case AttributeKind::kTensor:
      attributes.set(name, constant_of(leaf_of(o, name.c_str())));
      break;
    case AttributeKind::kFunction:
      attributes.set(name, Nested(function_of(o, name.c_str())));
      break;
  }
}

Attributes attributes_of(const Op& op, const std::function<py::object(std::string_view)>& given) {
  Attributes attributes;
  for (const AttributeSpec& a : op.attributes) {
    const py::object o = given(a.name);
    if (!o || o.is_none()) continue;  // the op says what is missing
    try {
      set_attribute(attributes, a, o);
    } catch (const py::cast_error&) {
      throw_type(std::string(op.name) + ": " + std::string(a.name) + ": expected " +
                 kind_text(kind_of(a)) + ", got " + py::cast<std::string>(py::repr(o)));
    }
  }
  return attributes;
}

Made call_op(const Row& row, const Given& given) {
  std::vector<Value> inputs;
  std::size_t i = 0;
  for (; i < row.kinds.size() && kValues.find(row.kinds[i]) != std::string_view::npos; ++i) {
    if (row.kinds[i] == 'L') {
      for (const Value& v : given.all(i)) inputs.push_back(v);
    } else if (given.v(i)) {
      inputs.push_back(given.v(i));
    }
  }
  const Attributes attributes = attributes_of(*row.op, [&](std::string_view name) {
    for (std::size_t p = i; p < row.parameters.size(); ++p)
      if (row.parameters[p] == name) return py::reinterpret_borrow<py::object>(given.object(p));
    return py::object();
  });
  std::vector<Value> results = given.builder().call(*row.op, inputs, attributes);
  if (results.size() == 1) return results[0];
  return results;
}

// The results as Python has them: Values, or what a run of the Function so far gives.
py::object results_of(const Made& made, Builder* eager, std::span<const Leaf> leaves) {
  std::vector<py::object> all;
  if (eager) {
    const std::shared_ptr<Plan> plan = kept_plan(eager->finish(made.values));
    for (Tensor& t : (*plan)(leaves)) all.push_back(to_python(std::move(t)));
  } else {
    for (const Value& v : made.values) all.push_back(to_python(v));
  }
  if (!made.tuple) return all.at(0);
  py::tuple tuple(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) tuple[i] = all[i];
  return tuple;
}

// The Values of a call's arguments. Where none is among them, arrays become the inputs of a
// Function that is run at once.
class Arguments {
 public:
  Arguments(const char* name, std::string_view kinds, std::span<PyObject* const> arguments)
      : name_(name) {
    bool any = false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      PyObject* const o = arguments[i];
      if (kinds[i] == 'L') {
        if (!PyList_Check(o) && !PyTuple_Check(o))
          throw_type(std::string(name) + ": expected a list or tuple of arrays, not " +
                     type_name(o));
        for (const py::handle part : py::reinterpret_borrow<py::object>(o)) look_at(part.ptr());
        any = true;
      } else if (kValues.find(kinds[i]) != std::string_view::npos && o != Py_None) {
        look_at(o);
        any = true;
      }
    }
    // It depends on no input, so it belongs to the Function being traced.
    if (!any && !builder_) builder_ = under_way();
    if (!builder_) {
      own_ = std::make_unique<Builder>(name);
      builder_ = own_.get();
    }

    Value like;
    std::vector<std::size_t> numbers;
    values.resize(arguments.size());
    places_.resize(arguments.size(), kNowhere);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (kinds[i] == 'L' || kValues.find(kinds[i]) == std::string_view::npos) continue;
      PyObject* const o = arguments[i];
      if (o == Py_None && kinds[i] == 'v') continue;
      if (is_number(o) && kinds[i] == 'N') {
        numbers.push_back(i);
        continue;
      }
      if (own_) places_[i] = leaves_.size();
      values[i] = value(o);
      if (kinds[i] == 'N') like = values[i];
    }
    for (const std::size_t i : numbers) {
      PyObject* const o = arguments[i];
      // Beside arrays a number is a constant of their dtype; alone it is an array.
      if (!like) {
        values[i] = value(o);
        if (!PyBool_Check(o)) like = values[i];
      } else if (std::optional<Leaf> scalar = scalar_of(like.dtype(), o)) {
        // An eager call takes it as an input: a constant would need a new Function for every
        // number.
        values[i] = own_ ? input(std::move(*scalar))
                         : broadcast(constant(like.builder(), tensor_of(*scalar)), like.shape());
      } else {
        values[i] = number_like(like, number_of(o));
      }
    }
  }

  Builder& builder() { return *builder_; }
  Builder* eager() { return own_.get(); }
  std::span<const Leaf> leaves() const { return leaves_; }

  Value value(PyObject* o) {
    if (is_value(o)) return value_of(o);
    if (!own_) return value_in(*builder_, o, name_);
    return input(leaf_of(o, name_));
  }

  // What is known of each argument: all of an array, unless it is a Value of code being traced that
  // is no constant.
  std::vector<Elements> known() const {
    std::vector<Elements> all(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (places_[i] != kNowhere) {
        all[i] = {leaves_[places_[i]].type, leaves_[places_[i]].bytes()};
      } else if (values[i]) {
        const Node* const maker = values[i].builder().maker(values[i].id());
        if (!maker || maker->op != &op::constant) continue;
        const Tensor& tensor = maker->attributes.get<Tensor>("value");
        all[i] = {tensor.type(), tensor.bytes().data()};
      }
    }
    return all;
  }

  std::vector<Value> values;

 private:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  void look_at(PyObject* o) {
    if (!is_value(o)) return;
    Builder& builder = value_of(o).builder();
    if (!builder_ || builder.number() > builder_->number()) builder_ = &builder;
  }
  Value input(Leaf leaf) {
    leaves_.push_back(std::move(leaf));
    return builder_->input(std::to_string(leaves_.size() - 1), leaves_.back().type);
  }

  const char* name_;
  std::unique_ptr<Builder> own_;
  Builder* builder_ = nullptr;
  std::vector<Leaf> leaves_;
  std::vector<std::size_t> places_;  // of each argument among the leaves
};

py::object call_row(const Row& row, std::span<PyObject* const> arguments) {
  Arguments all(row.name.c_str(), row.kinds, arguments);
  // Inputs come before ops, so the parts of lists are taken now.
  std::vector<std::vector<Value>> lists(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (row.kinds[i] == 'L')
      for (const py::handle part : py::reinterpret_borrow<py::object>(arguments[i]))
        lists[i].push_back(all.value(part.ptr()));
  const std::vector<Elements> known = all.known();
  const Given given(row.kinds, arguments, all.builder(), all.values, lists, known,
                    row.name.c_str());
  const Made made = [&] {
    try {
      return row.call ? row.call(given) : call_op(row, given);
    } catch (const Error& error) {
      // It begins with the op that the function is made of.
      const std::string message = error.what();
      const bool named = message.starts_with(row.name + ":") || message.starts_with(row.name + " ");
      if (named || row.name[0] == '_') throw;
      throw Error(error.code(), row.name + ": " + message);
    }
  }();
  return results_of(made, all.eager(), all.leaves());
}

// Runs code for C, which knows no exceptions.
template <class F>
PyObject* guarded(const F& code);

PyObject* call_function(PyObject* self, PyObject* const* arguments, Py_ssize_t count,
                        PyObject* names) {
  return guarded([&] {
    const Row& row = *static_cast<const Row*>(held(self));
    const std::size_t size = row.parameters.size();
    const auto positional = static_cast<std::size_t>(count);
    if (positional > size)
      throw_type(row.name + "(): expected at most " + std::to_string(size) + " arguments, got " +
                 std::to_string(positional) + "; it is " + row.name + "(" + row.signature + ")");
    std::array<PyObject*, 16> all{};
    std::copy_n(arguments, positional, all.begin());
    const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    for (Py_ssize_t k = 0; k < named; ++k) {
      PyObject* const name = PyTuple_GET_ITEM(names, k);
      std::size_t place = 0;
      while (place < size && row.interned[place].ptr() != name &&
             PyUnicode_Compare(row.interned[place].ptr(), name) != 0)
        ++place;
      if (place == size)
        throw_type(row.name + "() has no argument '" +
                   py::str(py::handle(name)).cast<std::string>() + "'; it is " + row.name + "(" +
                   row.signature + ")");
      if (all[place])
        throw_type(row.name + "(): the argument '" + row.parameters[place] + "' comes twice");
      all[place] = arguments[positional + static_cast<std::size_t>(k)];
    }
    for (std::size_t i = 0; i < size; ++i) {
      if (all[i]) continue;
      if (!row.defaults[i])
        throw_type(row.name + "(): the argument '" + row.parameters[i] + "' is missing; it is " +
                   row.name + "(" + row.signature + ")");
      all[i] = row.defaults[i].ptr();
    }
    return call_row(row, std::span<PyObject* const>(all.data(), size)).release().ptr();
  });
}

template <class F>
PyObject* guarded(const F& code) {
  try {
    return code();
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const py::builtin_exception& error) {
    error.set_error();
  } catch (...) {
    set_error(std::current_exception());
  }
  return nullptr;
}

// ---- docstrings

const char* kind_text(char kind) {
  switch (kind) {
    case 'V':
      return "array_like";
    case 'v':
      return "array_like, optional";
    case 'N':
      return "array_like or number";
    case 'L':
      return "sequence of array_like";
    case 'I':
      return "int";
    case 'i':
      return "int, optional";
    case 'D':
      return "float";
    case 'd':
      return "float, optional";
    case 'B':
      return "bool";
    case 'S':
      return "int or sequence of int";
    case 'A':
      return "int or sequence of int, optional";
    case 'T':
      return "dtype";
    case 'R':
      return "{'mean', 'sum', 'none'}";
    case 'C':
      return "array_like";
    case 'F':
      return "Function";
    default:
      return "str";
  }
}

std::string sentence(std::string_view text) {
  std::string line(text);
  if (!line.empty() && line.back() != '.') line += '.';
  return line;
}

std::string doc_of(const Row& row, const char* about, const char* example) {
  const Op* const op = row.described;
  std::string doc = row.name + "(" + row.signature + ")\n--\n\n";
  doc += about ? sentence(about) : op ? sentence(op->formula) : row.name + ".";
  if (!row.parameters.empty()) {
    doc += "\n\nParameters\n----------";
    for (std::size_t i = 0; i < row.parameters.size(); ++i)
      doc += "\n" + row.parameters[i] + " : " + kind_text(row.kinds[i]);
  }
  doc += "\n\nReturns\n-------\nArray, or Value while code is traced";
  if (example) doc += "\n\nExamples\n--------\n>>> import limpid as lp\n" + std::string(example);
  if (!op && find_op(row.name))
    doc += "\n\nNotes\n-----\nThe op of this name, in the text of a Function, is another function.";
  if (!op) return doc + "\n";
  doc += "\n\nNotes\n-----";
  if (about) doc += "\n" + sentence(op->formula);
  doc += "\nShapes: " + sentence(op->shapes);
  if (!op->accuracy.empty()) doc += "\nAccuracy in f32: " + sentence(op->accuracy);
  if (!op->gradient.none_because.empty())
    doc += "\nNo gradient: " + sentence(op->gradient.none_because);
  if (!op->source.empty()) doc += "\nSource: " + sentence(op->source);
  return doc + "\n";
}

// What begins with "_" is for the Python files alone.
void add_row(py::module_& m, std::unique_ptr<Row> made, const char* about,
             const char* example = nullptr, const char* result = "Any") {
  Row& row = *made.release();  // as long as the process: its method is read by the interpreter
  for (const std::string& parameter : split(row.signature)) {
    const std::size_t equals = parameter.find('=');
    row.parameters.push_back(parameter.substr(0, equals));
    row.interned.push_back(py::reinterpret_steal<py::object>(
        PyUnicode_InternFromString(row.parameters.back().c_str())));
    row.defaults.push_back(equals == std::string::npos ? py::object()
                                                       : py::eval(parameter.substr(equals + 1)));
  }
  row.doc = doc_of(row, about, example);
  // The cast is Python's own: the flags say how it is called.
  row.method = {row.name.c_str(),
                reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_function)),
                METH_FASTCALL | METH_KEYWORDS, row.doc.c_str()};
  const py::object self = py::cast(&row, py::return_value_policy::reference);
  const py::object module_name = py::str("limpid");
  const py::object function = py::reinterpret_steal<py::object>(
      PyCFunction_NewEx(&row.method, self.ptr(), module_name.ptr()));
  if (!function) throw py::error_already_set();
  if (row.name[0] != '_') py::list(m.attr("op_names")).append(py::str(row.name));
  py::dict(m.attr("op_kinds"))[py::str(row.name)] = row.kinds;
  py::dict(m.attr("op_results"))[py::str(row.name)] = result;
  m.attr(row.name.c_str()) = function;
}

}  // namespace

Given::Given(std::string_view kinds, std::span<PyObject* const> arguments, Builder& builder,
             const std::vector<Value>& values, const std::vector<std::vector<Value>>& lists,
             const std::vector<Elements>& known, const char* where)
    : kinds_(kinds),
      arguments_(arguments),
      builder_(builder),
      values_(values),
      lists_(lists),
      known_(known),
      where_(where) {}

namespace {

// The first of these integers that is not accepted, and where: "12 at [3, 1]".
std::optional<std::string> first_wrong(const Elements& all,
                                       const std::function<bool(std::int64_t)>& accepted) {
  if (!all.data) return {};
  const auto search = [&]<class T>(T) -> std::optional<std::string> {
    const auto* const numbers = static_cast<const T*>(all.data);
    const std::int64_t count = all.type.shape.elements();
    const auto* const wrong =
        std::find_if_not(numbers, numbers + count, [&](T n) { return accepted(n); });
    if (wrong == numbers + count) return {};
    std::string place;
    std::int64_t rest = wrong - numbers;
    for (std::size_t d = all.type.shape.rank(); d-- > 0; rest /= all.type.shape[d])
      place = std::to_string(rest % all.type.shape[d]) + (place.empty() ? "" : ", ") + place;
    return std::to_string(*wrong) + (place.empty() ? "" : " at [" + place + "]");
  };
  switch (all.type.dtype) {
    case Dtype::kI64:
      return search(std::int64_t{});
    case Dtype::kI32:
      return search(std::int32_t{});
    case Dtype::kI8:
      return search(std::int8_t{});
    case Dtype::kU8:
      return search(std::uint8_t{});
    default:
      return {};
  }
}

void require_indices(const std::string& where, const Elements& all, std::int64_t size) {
  const auto wrong = first_wrong(all, [&](auto n) { return n >= -size && n < size; });
  if (wrong)
    throw py::index_error(where + ": index " + *wrong + " is outside of an axis of " +
                          std::to_string(size));
}

}  // namespace

void Given::require_indices(std::size_t i, std::int64_t size) const {
  python::require_indices(where_, known_[i], size);
}
void Given::require_labels(std::size_t i, std::int64_t classes,
                           std::optional<std::int64_t> ignored) const {
  const auto wrong = first_wrong(
      known_[i], [&](auto n) { return (n >= 0 && n < classes) || (ignored && n == *ignored); });
  if (wrong)
    throw Error(ErrorCode::kInvalidArgument,
                std::string(where_) + ": label " + *wrong + " is no class; expected 0 to " +
                    std::to_string(classes - 1) +
                    (ignored ? ", or " + std::to_string(*ignored) + ", which is ignored" : ""));
}

bool Given::is_value(std::size_t i) const { return !is_number(arguments_[i]); }
std::int64_t Given::i(std::size_t i) const {
  if (python::is_value(arguments_[i]))
    throw_type(std::string(where_) +
               ": a size or an axis is an integer that is known while code is traced, not a Value");
  return integer_from(arguments_[i]);
}
std::optional<std::int64_t> Given::maybe_i(std::size_t i) const {
  if (arguments_[i] == Py_None) return {};
  return this->i(i);
}
double Given::d(std::size_t i) const { return number_of(arguments_[i]); }
std::optional<double> Given::maybe_d(std::size_t i) const {
  if (arguments_[i] == Py_None) return {};
  return d(i);
}
Value Given::number(std::size_t i, Dtype dtype) const {
  py::object number = py::reinterpret_borrow<py::object>(arguments_[i]);
  // Python's number of one of NumPy's, whose integers and booleans are none of Python's.
  if (!is_number(number.ptr()) && py::hasattr(number, "item")) number = number.attr("item")();
  if (const std::optional<Leaf> scalar = scalar_of(dtype, number.ptr()))
    return constant(builder_, tensor_of(*scalar));
  return constant(builder_, number_of(number.ptr()), dtype);
}
bool Given::b(std::size_t i) const {
  const int value = PyObject_IsTrue(arguments_[i]);
  if (value < 0) throw py::error_already_set();
  return value != 0;
}
std::vector<std::int64_t> Given::ints(std::size_t i) const {
  PyObject* const o = arguments_[i];
  if (PyIndex_Check(o) && !PySequence_Check(o)) return {this->i(i)};
  if (!PySequence_Check(o) || PyUnicode_Check(o) || python::is_value(o))
    throw_type(std::string(where_) + ": expected a tuple of integers, not " + type_name(o));
  std::vector<std::int64_t> all;
  for (const py::handle part : py::reinterpret_borrow<py::object>(o))
    all.push_back(integer_from(part));
  return all;
}
std::optional<std::vector<std::int64_t>> Given::axes(std::size_t i) const {
  if (arguments_[i] == Py_None) return {};
  return ints(i);
}
Dtype Given::dtype(std::size_t i) const { return dtype_from(arguments_[i]); }
std::string Given::text(std::size_t i) const {
  if (!PyUnicode_Check(arguments_[i]))
    throw_type(std::string(where_) + ": expected a str, not " + type_name(arguments_[i]));
  return py::cast<std::string>(py::handle(arguments_[i]));
}
Reduction Given::reduction(std::size_t i) const {
  const std::string name = text(i);
  if (name == "mean") return Reduction::kMean;
  if (name == "sum") return Reduction::kSum;
  if (name == "none") return Reduction::kNone;
  throw py::value_error(std::string(where_) + ": reduction: expected mean, sum or none, got '" +
                        name + "'");
}

void add_ops(py::module_& m) {
  // The object that functions are bound to. pickle looks the function up in it by name; this refers
  // pickle to the module.
  py::class_<Row>(m, "Row", py::is_final()).def("__reduce__", [](const Row&) {
    return py::make_tuple(py::module_::import("importlib").attr("import_module"),
                          py::make_tuple("limpid._core"));
  });
  m.attr("op_names") = py::list();
  m.attr("op_kinds") = py::dict();
  m.attr("op_results") = py::dict();
  for (const std::span<const FunctionRow>& rows : {function_rows(), array_function_rows()})
    for (const FunctionRow& r : rows) {
      auto row = std::make_unique<Row>();
      row->name = r.name;
      row->signature = r.signature;
      row->kinds = r.kinds;
      row->call = r.call;
      row->described = find_op(r.record ? r.record : r.name);
      add_row(m, std::move(row), r.about, r.example, r.result);
    }
  const py::list names = m.attr("op_names");
  for (const Op* op : all_ops()) {
    if (PySequence_Contains(names.ptr(), py::str(std::string(op->name)).ptr()) == 1) continue;
    auto row = std::make_unique<Row>();
    row->name = op->name;
    row->op = op;
    row->described = op;
    describe(*row, *op);
    add_row(m, std::move(row), nullptr);
  }
  m.def("require_indices", [](const std::string& where, const py::object& x, std::int64_t size) {
    if (is_value(x)) return;
    const Leaf leaf = leaf_of(x, where.c_str());
    require_indices(where, {leaf.type, leaf.bytes()}, size);
  });
  m.def(
      "all_ops",
      [] {
        py::list all;
        for (const Op* op : all_ops()) all.append(std::string(op->name));
        return all;
      },
      "Names of all ops.");
  m.def("call_op", [](const std::string& name, const py::args& inputs, const py::kwargs& given) {
    const Op* const op = find_op(name);
    if (!op) throw Error(ErrorCode::kNotFound, "call: there is no op '" + name + "'");
    const std::string kinds(inputs.size(), 'V');
    std::vector<PyObject*> pointers;
    for (const py::handle input : inputs) pointers.push_back(input.ptr());
    Arguments all(op->name.data(), kinds, pointers);
    for (const auto& [key, value] : given) {
      bool known = false;
      for (const AttributeSpec& a : op->attributes)
        known = known || py::cast<std::string>(key) == a.name;
      if (!known)
        throw_type("call: op '" + name + "' has no attribute '" + py::cast<std::string>(key) + "'");
    }
    const Attributes attributes = attributes_of(*op, [&](std::string_view a) {
      const py::str key{std::string(a)};
      return given.contains(key) ? py::object(given[key]) : py::object();
    });
    std::vector<Value> results = all.builder().call(*op, all.values, attributes);
    return results_of(results.size() == 1 ? Made(results[0]) : Made(results), all.eager(),
                      all.leaves());
  });
  m.def(
      "activations",
      [] {
        py::list all;
        for (const Activation& a : limpid::activations()) all.append(std::string(a.name));
        return all;
      },
      "Names of the activations that a network may have.");
}

}  // namespace limpid::python
