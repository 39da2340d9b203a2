// The module limpid._core, and the errors of Python's that stand for the library's. Depends on
// bindings.h.
#include "bindings.h"

#include <utility>

namespace limpid::python {

void set_error(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    try {
      const py::object classes = py::module_::import("limpid.errors").attr("_by_code");
      const py::object type = classes[py::str(std::string(name(e.code())))];
      const py::str message(e.what());
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

}  // namespace

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
}
