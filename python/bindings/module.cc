// The module limpid._core, and the errors of Python's that stand for the library's. Depends on
// bindings.h.
#include "bindings.h"

#include <utility>

#include "limpid/core/system_error.h"

namespace limpid::python {

namespace {

// NumPy's numbers are f64 unless told, and most params are f32.
std::string with_advice(const Error& e) {
  std::string text = e.what();
  const auto says = [&](const char* part) { return text.find(part) != std::string::npos; };
  // A list of all dtypes that are expected has both.
  const bool listed = says("f32 or f64") || says("f32, f64");
  if (e.code() == ErrorCode::kDtype && says("f32") && says("f64") && !listed)
    text += "; x.astype('float32') makes an f32 of NumPy's f64";
  return text;
}

}  // namespace

void set_error(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const SystemError& e) {
    try {
      const py::object made = py::module_::import("limpid.errors")
                                  .attr("_of_reason")(e.reason(), std::string(e.what()));
      PyErr_SetObject(py::type::handle_of(made).ptr(), made.ptr());
    } catch (py::error_already_set& other) {
      other.restore();
    }
  } catch (const Error& e) {
    try {
      const py::object classes = py::module_::import("limpid.errors").attr("_by_code");
      const py::object type = classes[py::str(std::string(name(e.code())))];
      const py::str message(with_advice(e));
      PyErr_SetObject(type.ptr(), message.ptr());
    } catch (py::error_already_set& other) {
      other.restore();
    }
  } catch (py::error_already_set& e) {
    e.restore();
  } catch (const py::builtin_exception& e) {
    e.set_error();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
}

std::vector<py::object> items_of(const py::sequence& sequence) {
  std::vector<py::object> items;
  for (py::object item : sequence) items.push_back(std::move(item));
  return items;
}

std::string type_name(py::handle object) {
  const auto* const type = Py_TYPE(object.ptr());
  return type->tp_name;
}

void throw_type(const std::string& message) { throw py::type_error(message); }

namespace {

// pybind11's base of all types throws where copyreg, or anybody, makes an instance of it itself,
// and an exception may not pass through the interpreter.
newfunc make_instance = nullptr;
PyObject* make_instance_or_refuse(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  try {
    return make_instance(type, args, kwargs);
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_TypeError, e.what());
    return nullptr;
  }
}

// pybind11's message for arguments that do not fit takes several lines and shows them whole. This
// is the same in one line: "fold_in(): expected (self: Key, data: int), got Key, 'x'".
std::string one_line(const std::string& text, py::handle args, py::handle kwargs) {
  const std::string name = text.substr(0, text.find(':'));
  const auto given = py::reinterpret_borrow<py::tuple>(args);
  const bool made = name == "__init__()";
  std::string line = (made ? type_name(given[0]) + "()" : name) + ": expected ";
  const char* separator = "";
  for (int overload = 1;; ++overload) {
    const std::string number = "\n    " + std::to_string(overload) + ". ";
    const std::size_t at = text.find(number);
    if (at == std::string::npos) break;
    const std::size_t open = text.find('(', at);
    std::string signature = text.substr(open, text.find('\n', open) - open);
    signature.erase(std::min(signature.size(), signature.find(" -> ")));
    line += std::exchange(separator, " or ") + signature;
  }
  line += ", got ";
  separator = "";
  const auto add = [&](py::handle argument) {
    const bool number = PyLong_Check(argument.ptr()) || PyFloat_Check(argument.ptr()) ||
                        PyUnicode_Check(argument.ptr()) || argument.is_none();
    std::string shown = number ? py::repr(argument).cast<std::string>() : type_name(argument);
    if (shown.size() > 40) shown = type_name(argument);
    line += std::exchange(separator, ", ") + shown;
  };
  for (std::size_t i = made ? 1 : 0; i < given.size(); ++i) add(given[i]);
  if (kwargs)
    for (const auto& [key, argument] : py::reinterpret_borrow<py::dict>(kwargs)) {
      line += std::exchange(separator, "") + py::str(key).cast<std::string>() + "=";
      add(argument);
    }
  // The words of pybind11 3 for what is read as an int or a float.
  constexpr std::pair<std::string_view, std::string_view> kShorter[] = {
      {"limpid._core.", ""},
      {"collections.abc.", ""},
      {"typing.SupportsInt | typing.SupportsIndex", "int"},
      {"typing.SupportsFloat | typing.SupportsIndex", "float"},
      {"typing.SupportsInt", "int"},
      {"typing.SupportsFloat", "float"}};
  for (const auto& [words, shorter] : kShorter)
    for (std::size_t at; (at = line.find(words)) != std::string::npos;)
      line.replace(at, words.size(), shorter);
  return line;
}

// What a call of pybind11's returned. If it says that arguments do not fit, `line` says it instead.
template <class Line>
PyObject* in_one_line(PyObject* result, const Line& line) {
  if (result || !PyErr_ExceptionMatches(PyExc_TypeError)) return result;
  py::error_already_set error;
  try {
    const std::string text = py::str(error.value()).cast<std::string>();
    if (text.find("The following argument types are supported:") == std::string::npos)
      error.restore();
    else
      PyErr_SetString(PyExc_TypeError, line(text).c_str());
  } catch (...) {
    error.restore();
  }
  return nullptr;
}

// pybind11's functions take a tuple and a dict of arguments; from version 3.1 on an array of
// objects, positional ones first, and the names of the others.
using Dispatch = PyObject* (*)(PyObject*, PyObject*, PyObject*);
using DispatchArray = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
void (*dispatch)() = nullptr;

PyObject* dispatch_in_one_line(PyObject* self, PyObject* args, PyObject* kwargs) {
  return in_one_line(reinterpret_cast<Dispatch>(dispatch)(self, args, kwargs),
                     [&](const std::string& text) { return one_line(text, args, kwargs); });
}
PyObject* dispatch_array_in_one_line(PyObject* self, PyObject* const* all, Py_ssize_t positional,
                                     PyObject* names) {
  return in_one_line(reinterpret_cast<DispatchArray>(dispatch)(self, all, positional, names),
                     [&](const std::string& text) {
                       py::tuple args(positional);
                       py::dict kwargs;
                       for (Py_ssize_t i = 0; i < positional; ++i)
                         args[static_cast<std::size_t>(i)] = all[i];
                       for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i)
                         kwargs[PyTuple_GET_ITEM(names, i)] = all[positional + i];
                       return one_line(text, args, kwargs);
                     });
}

// The cast is Python's own: the flags of a method say how it is called.
void (*called_by(const PyMethodDef& method))() {
  return reinterpret_cast<void (*)()>(method.ml_meth);
}

PyMethodDef* method_of(PyObject* o) {
  if (PyInstanceMethod_Check(o)) o = PyInstanceMethod_GET_FUNCTION(o);
  return PyCFunction_Check(o) ? reinterpret_cast<PyCFunctionObject*>(o)->m_ml : nullptr;
}

// Puts dispatch_in_one_line() into a function or property of pybind11's. Other objects stay.
void shorten(py::handle object) {
  if (Py_TYPE(object.ptr()) == &PyProperty_Type) {
    shorten(object.attr("fget"));
    shorten(object.attr("fset"));
  } else if (PyMethodDef* const method = method_of(object.ptr())) {
    if (called_by(*method) != dispatch) return;
    method->ml_meth = reinterpret_cast<PyCFunction>(
        method->ml_flags & METH_FASTCALL ? reinterpret_cast<void (*)()>(dispatch_array_in_one_line)
                                         : reinterpret_cast<void (*)()>(dispatch_in_one_line));
  }
}

}  // namespace

void keep_messages_short(py::module_& m) {
  dispatch = called_by(*method_of(py::cpp_function([] {}).ptr()));
  for (const auto& [name, member] : py::dict(m.attr("__dict__"))) {
    shorten(member);
    if (!PyType_Check(member.ptr())) continue;
    const py::dict members(member.attr("__dict__").attr("copy")());
    for (const auto& [key, one] : members) shorten(one);
  }
}

void add_errors(py::module_&) {
  auto* const base = reinterpret_cast<PyTypeObject*>(py::detail::get_internals().instance_base);
  make_instance = std::exchange(base->tp_new, make_instance_or_refuse);
  py::register_exception_translator([](std::exception_ptr error) {
    if (!error) return;
    try {
      std::rethrow_exception(error);
    } catch (const Error&) {
      set_error(error);
    }
  });
}

}  // namespace limpid::python

PYBIND11_MODULE(_core, m) {
  using namespace limpid::python;  // NOLINT(google-build-using-namespace)
  add_errors(m);
  add_arrays(m);
  add_trees(m);
  add_values(m);
  add_ops(m);
  add_functions(m);
  add_composed(m);
  add_calls(m);
  add_layers(m);
  add_optimizers(m);
  add_data(m);
  add_formats(m);
  add_training(m);
  add_inspection(m);
  keep_messages_short(m);
}
