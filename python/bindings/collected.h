// Types that take part in Python's cyclic garbage collection: they hold code, which may hold them.
// Depends on bindings.h.
#pragma once

#include "bindings.h"

namespace limpid::python {

// The C++ object of an instance of a final type; nullptr before __init__.
template <class C>
C* instance_of(PyObject* self) {
  return static_cast<C*>(reinterpret_cast<py::detail::instance*>(self)->simple_value_holder[0]);
}

// For py::custom_type_setup. C has traverse(visit, arg) and clear(); `of` finds it in an instance.
template <class C, C* (*of)(PyObject*) = instance_of<C>>
void take_part_in_collection(PyHeapTypeObject* heap_type) {
  PyTypeObject& type = heap_type->ht_type;
  type.tp_flags |= Py_TPFLAGS_HAVE_GC;
  type.tp_traverse = [](PyObject* self, visitproc visit, void* arg) -> int {
    // From version 3.9 on an instance holds its type.
    Py_VISIT(Py_TYPE(self));
    const C* const held = of(self);
    return held ? held->traverse(visit, arg) : 0;
  };
  type.tp_clear = [](PyObject* self) -> int {
    if (C* const held = of(self)) held->clear();
    return 0;
  };
}

}  // namespace limpid::python
