#include "value.h"

#include "limpid/core/error.h"
#include "limpid/ops/constant.h"

namespace limpid::python {
namespace {

PyTypeObject* value_type = nullptr;

std::vector<Builder*>& stack() {
  thread_local std::vector<Builder*> builders;
  return builders;
}

// While it lives, ops are added to its Function.
class Tracing {
 public:
  explicit Tracing(Builder& builder) { stack().push_back(&builder); }
  ~Tracing() { stack().pop_back(); }
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;
};

// A scope as a Python context manager.
class Scope {
 public:
  explicit Scope(std::string name) : name_(std::move(name)) {}
  void enter() {
    Builder* const builder = under_way();
    if (!builder || scope_) return;
    number_ = builder->number();
    scope_ = new Builder::Scope(*builder, name_);
  }
  void exit() {
    Builder::Scope* const scope = std::exchange(scope_, nullptr);
    Builder* const builder = under_way();
    // Its Function has ended, or another one is being traced: there is no scope to restore.
    if (scope && builder && builder->number() == number_) delete scope;
  }

 private:
  std::string name_;
  std::uint64_t number_ = 0;
  Builder::Scope* scope_ = nullptr;
};

[[noreturn]] void throw_no_elements(const char* what) {
  throw_type(std::string("a traced Value has no ") + what +
             " while code is traced: return it to see its elements, compute with functions of "
             "lp, and give numbers that code needs by functools.partial");
}

}  // namespace

bool is_value(py::handle object) { return Py_TYPE(object.ptr()) == value_type; }
const Value& value_of(py::handle object) { return *static_cast<const Value*>(held(object)); }
py::object to_python(const Value& value) { return py::cast(value); }

Builder* under_way() { return stack().empty() ? nullptr : stack().back(); }

Value value_in(Builder& builder, py::handle object, const char* where) {
  if (is_value(object)) return value_of(object);
  return constant(builder, constant_of(leaf_of(object, where)));
}

TracedCode trace_code(const py::object& code, const Tree& arguments, const std::vector<Type>& types,
                      const std::string& name, const std::vector<std::string>& argument_names,
                      bool inside, std::vector<std::string> output_names) {
  Builder* const around = inside ? under_way() : nullptr;
  std::optional<Builder> made;
  if (around)
    made.emplace(name, *around);
  else
    made.emplace(name);
  Builder& builder = *made;
  const std::vector<std::string> names = arguments.names(argument_names);
  std::vector<py::object> inputs;
  for (std::size_t i = 0; i < types.size(); ++i)
    inputs.push_back(to_python(builder.input(names[i], types[i])));
  std::size_t next = 0;
  const py::object tuple = arguments.build(inputs, next);

  const Tracing tracing(builder);
  const py::object result = code(*py::reinterpret_borrow<py::tuple>(tuple));
  std::vector<py::object> leaves;
  Tree tree = Tree::flatten(result, leaves);
  std::vector<Value> outputs;
  for (const py::object& leaf : leaves) {
    if (!is_value(leaf) && !is_leaf(leaf))
      throw_type("traced code gives Values, arrays, and dicts, lists and tuples of them; not " +
                 type_name(leaf));
    outputs.push_back(value_in(builder, leaf, "a result of traced code"));
  }
  Function f = builder.finish(outputs, std::move(output_names));
  return {std::move(f), builder.captured(), std::move(tree)};
}

void add_values(py::module_& m) {
  py::class_<Value> value(
      m, "Value", py::is_final(),
      "A name for a tensor inside of a Function that is being written.\n\nCode that is traced gets "
      "Values in the place of arrays. Operators, methods and the functions of limpid\nwrite ops "
      "down; "
      "the elements come when the Function runs.\n");
  value_type = reinterpret_cast<PyTypeObject*>(value.ptr());
  value.def(made_by<Value>("Value", "traced code is called with Values"))
      .def_property_readonly(
          "shape", [](const Value& v) { return shape_tuple(v.shape()); },
          "The dimensions, a tuple.")
      .def_property_readonly(
          "dtype",
          [](const Value& v) -> py::object {
            const py::object dtype = numpy_dtype(v.dtype());
            return dtype.is_none() ? py::object(py::str("bfloat16")) : dtype;
          },
          "NumPy's dtype of the elements.")
      .def_property_readonly(
          "type", [](const Value& v) { return to_string(v.type()); },
          "Element type and shape as text: 'f32[2, 3]'.")
      .def_property_readonly(
          "ndim", [](const Value& v) { return v.rank(); }, "The number of dimensions.")
      .def_property_readonly(
          "size", [](const Value& v) { return v.shape().elements(); }, "The number of elements.")
      .def("__len__",
           [](const Value& v) {
             if (v.rank() == 0) throw_type("len() of a Value without dimensions");
             return v.shape()[0];
           })
      .def("__bool__",
           [](const Value&) -> bool {
             throw_type(
                 "a traced Value is neither true nor false while code is traced: write "
                 "lp.select(condition, a, b) instead of if, and loops over sizes that are known");
           })
      .def("item", [](const Value&) -> double { throw_no_elements("number"); })
      .def("tolist", [](const Value&) -> double { throw_no_elements("numbers"); })
      .def("numpy", [](const Value&) -> double { throw_no_elements("array"); })
      .def("__float__", [](const Value&) -> double { throw_no_elements("number"); })
      .def("__int__", [](const Value&) -> int { throw_no_elements("number"); })
      .def("__index__", [](const Value&) -> int { throw_no_elements("number"); })
      .def("__array__",
           [](const Value&, const py::args&, const py::kwargs&) -> int {
             throw_type(
                 "a traced Value is no array while code is traced: write lp.exp(x), not "
                 "numpy.exp(x), and return it to see its elements");
           })
      .def("__repr__", [](const Value& v) {
        try {
          return "limpid.Value(" + to_string(v.type()) + ")";
        } catch (const Error&) {
          return std::string("limpid.Value(of the past)");
        }
      });
  py::class_<Scope>(m, "scope", py::is_final(),
                    "Ops written inside of ``with lp.scope(name):`` are shown under that name.")
      .def(py::init<std::string>(), py::arg("name"))
      .def("__enter__", [](Scope& scope) { scope.enter(); })
      .def("__exit__", [](Scope& scope, const py::args&) { scope.exit(); });
  m.def("tracing", [] { return under_way() != nullptr; });
}

}  // namespace limpid::python
