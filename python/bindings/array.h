// Array: a Tensor as Python sees it, and how anything of Python's that holds numbers becomes a
// Tensor. Depends on limpid/core.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "bindings.h"
#include "limpid/core/key.h"
#include "limpid/core/tensor.h"

namespace limpid::python {

// An immutable array.
struct Array {
  Tensor tensor;
  // The elements may change: somebody else, such as NumPy, may write to them.
  bool borrowed = false;
};

// The C++ object of an instance of one of the module's types. Throws TypeError if __init__ was not
// called.
const void* held(py::handle object);

// The type of the Python object; exact instances are recognised without a search.
bool is_array(py::handle object);
// Requires is_array().
const Array& array_of(py::handle object);
py::object to_python(Tensor tensor, bool borrowed = false);

bool is_key(py::handle object);
Key key_of(py::handle object);

// Elements that a Python object holds, ready to be read. `owner` keeps them alive.
struct Leaf {
  Type type;
  const void* data = nullptr;
  py::object owner;
  const Tensor* tensor = nullptr;  // where the owner is an Array
  std::uint64_t number = 0;        // the memory of a scalar; data is nullptr then
  bool borrowed = false;           // as in Array

  const void* bytes() const { return data ? data : &number; }
};

// A number of Python's.
template <class T>
Leaf number_leaf(Dtype dtype, T value) {
  Leaf leaf;
  leaf.type = {dtype, Shape{}};
  std::memcpy(&leaf.number, &value, sizeof value);
  return leaf;
}

// Whether it is a number, a Key, an array, or anything that has the buffer protocol, DLPack,
// __array_interface__ or __array__: what is one leaf of a tree.
bool is_leaf(py::handle object);

// A bool, an integer (i32), a floating number (f32), a Key (i64), or the elements of an array;
// without a copy where they are row-major, aligned and of a dtype that Limpid has. Elsewhere they
// are copied, inside of no_copy() an error. Throws TypeError for other objects; `where` opens the
// message.
Leaf leaf_of(py::handle object, const char* where);

// Of elements that others made, byte by byte: throws ValueError for a bool other than 0 and 1.
void check_bools(const Leaf& leaf, const char* where);

// The Tensor of a leaf: it shares the elements and keeps them alive.
Tensor tensor_of(const Leaf& leaf);
// As above, but copied if the elements may change: for constants.
Tensor constant_of(const Leaf& leaf);

// NumPy's dtype of these elements: that of ml_dtypes for bf16, or nothing where that is missing.
py::object numpy_dtype(Dtype dtype);
// From a name of Limpid's or NumPy's, a NumPy dtype or type. Throws TypeError.
Dtype dtype_from(py::handle object);
// Throws TypeError for what is no integer of Python's or NumPy's, OverflowError beyond 64 bits.
std::int64_t integer_from(py::handle object);
Shape shape_from(py::handle object);
py::tuple shape_tuple(const Shape& shape);

}  // namespace limpid::python
