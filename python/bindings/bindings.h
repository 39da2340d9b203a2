// What the sources of the Python module share: pybind11 with its settings, and the parts of the
// module in the order in which they are added. Depends on pybind11 and on limpid.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "limpid/core/error.h"

namespace limpid::python {

namespace py = pybind11;

// Each adds its types and functions to the module.
void add_errors(py::module_& module);
void add_arrays(py::module_& module);
void add_trees(py::module_& module);
void add_values(py::module_& module);
void add_ops(py::module_& module);
void add_functions(py::module_& module);
void add_composed(py::module_& module);
void add_calls(py::module_& module);
void add_layers(py::module_& module);
void add_optimizers(py::module_& module);
void add_data(py::module_& module);
void add_formats(py::module_& module);
void add_training(py::module_& module);
void add_inspection(py::module_& module);
// After all the others: their TypeErrors get one line.
void keep_messages_short(py::module_& module);

// A method for pybind11 to call on a reference: of a pointer to one it makes a function that takes
// None for the object.
template <class R, class C, class... Given>
auto method(R (C::*of)(Given...)) {
  return [of](C& self, Given... given) -> R { return (self.*of)(std::forward<Given>(given)...); };
}
template <class R, class C, class... Given>
auto method(R (C::*of)(Given...) const) {
  return [of](const C& self, Given... given) -> R {
    return (self.*of)(std::forward<Given>(given)...);
  };
}

// For types that are made by functions of the package: calling one says which.
template <class T>
auto made_by(const char* type, const char* functions) {
  return py::init([=](const py::args&, const py::kwargs&) -> std::unique_ptr<T> {
    throw py::type_error(std::string(type) + "() makes none: " + functions);
  });
}

// The items of a sequence. They are held: an array or a range makes an item when it is asked for
// one, and a py::handle from a loop over the sequence would outlive it.
std::vector<py::object> items_of(const py::sequence& sequence);

// "ndarray", "limpid.Array", ...: for messages.
std::string type_name(py::handle object);

// Sets the error of Python's that stands for an exception of the library.
void set_error(const std::exception_ptr& error);

// Throws what Python calls a TypeError.
[[noreturn]] void throw_type(const std::string& message);

}  // namespace limpid::python
