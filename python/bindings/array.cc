#include "array.h"

#include <pybind11/numpy.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "dlpack.h"
#include "limpid/core/half.h"
#include "limpid/function/text.h"
#include "limpid/inspect/bit_hashes.h"
#include "lock.h"

namespace limpid::python {
namespace {

PyTypeObject* array_type = nullptr;
PyTypeObject* key_type = nullptr;

// What happens where an array would be copied on its way in.
enum class OnCopy : std::uint8_t { kAllow, kWarn, kRefuse };
thread_local OnCopy on_copy = OnCopy::kAllow;

// Of NumPy's numbers for its types, those that do not depend on the machine.
std::optional<Dtype> dtype_of_number(int number) {
  switch (number) {
    case py::detail::npy_api::NPY_BOOL_:
      return Dtype::kBool;
    case py::detail::npy_api::NPY_BYTE_:
      return Dtype::kI8;
    case py::detail::npy_api::NPY_UBYTE_:
      return Dtype::kU8;
    case py::detail::npy_api::NPY_INT_:
      return Dtype::kI32;
    case py::detail::npy_api::NPY_LONG_:
      return sizeof(long) == 8 ? Dtype::kI64 : Dtype::kI32;
    case py::detail::npy_api::NPY_LONGLONG_:
      return Dtype::kI64;
    case py::detail::npy_api::NPY_FLOAT_:
      return Dtype::kF32;
    case py::detail::npy_api::NPY_DOUBLE_:
      return Dtype::kF64;
    case 23:  // NPY_HALF
      return Dtype::kF16;
    default:
      return {};
  }
}

// Of numbers above 255 a library's own, such as ml_dtypes' bfloat16.
bool is_bfloat16(py::handle descriptor) {
  return py::str(descriptor.attr("name")).cast<std::string>() == "bfloat16";
}

// Exact instances are recognised without a search.
void refuse_masked(py::handle object, const char* where) {
  if (Py_TYPE(object.ptr()) == py::detail::npy_api::get().PyArray_Type_) return;
  if (py::isinstance(object, py::module_::import("numpy").attr("ma").attr("MaskedArray")))
    throw py::value_error(std::string(where) +
                          ": a masked array has no elements where its mask is; give x.filled(...)");
}

Leaf leaf_of_ndarray(py::handle object, const char* where) {
  refuse_masked(object, where);
  const auto* const array = py::detail::array_proxy(object.ptr());
  const auto* const descriptor = py::detail::array_descriptor_proxy(array->descr);
  std::optional<Dtype> dtype = dtype_of_number(descriptor->type_num);
  if (!dtype && descriptor->type_num >= 256 && is_bfloat16(array->descr)) dtype = Dtype::kBf16;
  if (!dtype)
    throw_type(std::string(where) + ": Limpid has no dtype " +
               py::str(py::handle(array->descr)).cast<std::string>() +
               "; expected float32, float64, float16, bfloat16, int32, int64, int8, uint8 or bool");
  if (array->nd > static_cast<int>(Shape::kMaxRank))
    throw py::value_error(std::string(where) + ": an array has at most 8 dimensions, this one " +
                          std::to_string(array->nd));

  constexpr int kWanted =
      py::detail::npy_api::NPY_ARRAY_C_CONTIGUOUS_ | py::detail::npy_api::NPY_ARRAY_ALIGNED_;
  const bool native = descriptor->byteorder != '>';
  if ((array->flags & kWanted) != kWanted || !native) {
    say_copy(where, !native ? "its bytes are in another order"
                    : (array->flags & kWanted & py::detail::npy_api::NPY_ARRAY_ALIGNED_)
                        ? "it is not row-major"
                        : "it is not aligned");
    const py::module_ numpy = py::module_::import("numpy");
    const py::object there = native ? py::reinterpret_borrow<py::object>(array->descr)
                                    : py::handle(array->descr).attr("newbyteorder")("=");
    // "C" and not ascontiguousarray(), which makes a scalar a vector.
    const py::object straight =
        numpy.attr("array")(object, there, py::arg("order") = "C", py::arg("copy") = true);
    Leaf leaf = leaf_of_ndarray(straight, where);
    leaf.borrowed = false;
    return leaf;
  }

  Leaf leaf;
  std::array<std::int64_t, Shape::kMaxRank> dims{};
  for (int d = 0; d < array->nd; ++d) dims[static_cast<std::size_t>(d)] = array->dimensions[d];
  leaf.type = {*dtype, Shape(std::span<const std::int64_t>(dims.data(),
                                                           static_cast<std::size_t>(array->nd)))};
  leaf.data = array->data;
  leaf.owner = py::reinterpret_borrow<py::object>(object);
  leaf.borrowed = true;
  if ((array->flags & py::detail::npy_api::NPY_ARRAY_WRITEABLE_) == 0) {
    // A read-only view of what somebody may write to is no promise.
    const py::handle base(array->base);
    leaf.borrowed = base && (is_array(base) ? array_of(base).borrowed : !PyBytes_Check(base.ptr()));
  }
  check_bools(leaf, where);
  return leaf;
}

bool is_ndarray(py::handle object) {
  return PyObject_TypeCheck(object.ptr(), py::detail::npy_api::get().PyArray_Type_) != 0;
}

Leaf integer_leaf(py::handle object, const char* where) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  if (value == -1 && PyErr_Occurred()) throw py::error_already_set();
  if (overflow || value < std::numeric_limits<std::int32_t>::min() ||
      value > std::numeric_limits<std::int32_t>::max())
    throw py::value_error(std::string(where) +
                          ": an integer of Python's becomes an i32, and this one is too large; "
                          "give numpy.int64(...)");
  return number_leaf(Dtype::kI32, static_cast<std::int32_t>(value));
}

bool has(py::handle object, const char* attribute) {
  return py::hasattr(py::type::handle_of(object), attribute);
}

// What to_text gives, of large ones the type alone. That gives narrow numbers as their bits.
std::string repr_of(const Array& array) {
  constexpr std::int64_t kMost = 64;
  const Tensor& x = array.tensor;
  const auto text = [](const Tensor& t) { return to_text(t, {.max_elements = kMost}); };
  const auto widened = [&]<class T>(std::span<const T> values) {
    std::vector<float> wide(values.size());
    std::ranges::transform(values, wide.begin(), [](T v) { return to_f32(v); });
    const std::string as_f32 = text(Tensor::from<float>(x.shape(), wide));
    return std::string(name(x.dtype())) + as_f32.substr(name(Dtype::kF32).size());
  };
  const bool narrow =
      x.elements() <= kMost && (x.dtype() == Dtype::kBf16 || x.dtype() == Dtype::kF16);
  return "limpid.Array(" +
         (!narrow                     ? text(x)
          : x.dtype() == Dtype::kBf16 ? widened(x.values<Bf16>())
                                      : widened(x.values<F16>())) +
         ")";
}

py::object array_interface(const Array& a) {
  if (a.tensor.dtype() == Dtype::kBf16)
    throw py::attribute_error("__array_interface__: NumPy has no bf16");
  py::dict interface;
  interface["shape"] = shape_tuple(a.tensor.shape());
  interface["typestr"] = numpy_dtype(a.tensor.dtype()).attr("str");
  interface["data"] =
      py::make_tuple(reinterpret_cast<std::uintptr_t>(a.tensor.bytes().data()), true);
  interface["version"] = 3;
  return interface;
}

// A NumPy array on the elements, read-only; bf16 without ml_dtypes widened to float32.
py::object to_numpy(const py::object& self) {
  if (!is_array(self)) throw_type("expected an Array, not " + type_name(self));
  const Array& a = array_of(self);
  const py::object dtype = numpy_dtype(a.tensor.dtype());
  if (dtype.is_none()) {
    py::array_t<float> wide(
        std::vector<py::ssize_t>(a.tensor.shape().begin(), a.tensor.shape().end()));
    const std::span<const Bf16> values = a.tensor.values<Bf16>();
    float* const out = wide.mutable_data();
    for (std::size_t i = 0; i < values.size(); ++i)
      out[i] = std::bit_cast<float>(static_cast<std::uint32_t>(values[i].bits) << 16);
    wide.attr("setflags")(py::arg("write") = false);
    return wide;
  }
  py::array array(py::reinterpret_borrow<py::dtype>(dtype),
                  std::vector<py::ssize_t>(a.tensor.shape().begin(), a.tensor.shape().end()),
                  a.tensor.bytes().data(), self);
  array.attr("setflags")(py::arg("write") = false);
  return array;
}

py::buffer_info buffer_of(Array& a) {
  const char* format = nullptr;
  switch (a.tensor.dtype()) {
    case Dtype::kF32:
      format = "f";
      break;
    case Dtype::kF64:
      format = "d";
      break;
    case Dtype::kF16:
      format = "e";
      break;
    case Dtype::kI32:
      format = "i";
      break;
    case Dtype::kI64:
      format = "q";
      break;
    case Dtype::kI8:
      format = "b";
      break;
    case Dtype::kU8:
      format = "B";
      break;
    case Dtype::kBool:
      format = "?";
      break;
    case Dtype::kBf16:
      format = "H";  // get_buffer() has refused it
      break;
  }
  std::vector<py::ssize_t> shape, strides(a.tensor.shape().rank());
  for (const std::int64_t n : a.tensor.shape()) shape.push_back(n);
  py::ssize_t step = static_cast<py::ssize_t>(size_of(a.tensor.dtype()));
  const py::ssize_t size = step;
  for (std::size_t d = shape.size(); d-- > 0; step *= shape[d]) strides[d] = step;
  return {const_cast<std::byte*>(a.tensor.bytes().data()),
          size,
          format,
          static_cast<py::ssize_t>(shape.size()),
          std::move(shape),
          std::move(strides),
          true};
}

// pybind11's function must not throw, and so cannot refuse.
getbufferproc described = nullptr;
int get_buffer(PyObject* object, Py_buffer* view, int flags) {
  const void* const array = reinterpret_cast<py::detail::instance*>(object)->simple_value_holder[0];
  if (!array || static_cast<const Array*>(array)->tensor.dtype() == Dtype::kBf16) {
    view->obj = nullptr;
    PyErr_SetString(PyExc_BufferError, array ? "the buffer protocol has no format for bf16"
                                             : "the array was never made");
    return -1;
  }
  return described(object, view, flags);
}

py::object item_of(const Array& a) {
  if (a.tensor.elements() != 1)
    throw py::value_error("item: expected an array of one element, got " +
                          to_string(a.tensor.type()));
  switch (a.tensor.dtype()) {
    case Dtype::kF32:
      return py::float_(a.tensor.item<float>());
    case Dtype::kF64:
      return py::float_(a.tensor.item<double>());
    case Dtype::kI32:
      return py::int_(a.tensor.item<std::int32_t>());
    case Dtype::kI64:
      return py::int_(a.tensor.item<std::int64_t>());
    case Dtype::kI8:
      return py::int_(a.tensor.item<std::int8_t>());
    case Dtype::kU8:
      return py::int_(a.tensor.item<std::uint8_t>());
    case Dtype::kBool:
      return py::bool_(a.tensor.item<bool>());
    case Dtype::kBf16:
      return py::float_(
          std::bit_cast<float>(static_cast<std::uint32_t>(a.tensor.item<Bf16>().bits) << 16));
    case Dtype::kF16:
      return to_numpy(to_python(a.tensor)).attr("item")();
  }
  return py::none();
}

}  // namespace

const void* held(py::handle object) {
  // The types are final, so that an instance holds exactly one pointer: none where only __new__ was
  // called.
  const void* const pointer =
      reinterpret_cast<py::detail::instance*>(object.ptr())->simple_value_holder[0];
  if (!pointer) throw_type(type_name(object) + ": it was never made; __init__ was not called");
  return pointer;
}

bool is_array(py::handle object) { return Py_TYPE(object.ptr()) == array_type; }
const Array& array_of(py::handle object) { return *static_cast<const Array*>(held(object)); }
py::object to_python(Tensor tensor, bool borrowed) {
  return py::cast(Array{std::move(tensor), borrowed});
}
bool is_key(py::handle object) { return Py_TYPE(object.ptr()) == key_type; }
Key key_of(py::handle object) { return *static_cast<const Key*>(held(object)); }

void say_copy(const char* where, const std::string& why) {
  if (on_copy == OnCopy::kAllow) return;
  const std::string message = std::string(where) + ": the array would be copied, as " + why;
  if (on_copy == OnCopy::kRefuse) throw py::value_error(message + "; no_copy() forbids that");
  py::module_::import("limpid.errors").attr("_warn_of_copy")(message);
}

void check_bools(const Leaf& leaf, const char* where) {
  if (leaf.type.dtype != Dtype::kBool) return;
  for (std::int64_t i = 0; i < leaf.type.shape.elements(); ++i)
    if (static_cast<const std::uint8_t*>(leaf.data)[i] > 1)
      throw py::value_error(std::string(where) + ": a bool is neither 0 nor 1");
}

bool is_leaf(py::handle object) {
  return is_array(object) || is_key(object) || PyFloat_Check(object.ptr()) ||
         PyLong_Check(object.ptr()) || is_ndarray(object) || PyObject_CheckBuffer(object.ptr()) ||
         has(object, "__dlpack__") || has(object, "__array_interface__") ||
         has(object, "__array__");
}

Leaf leaf_of(py::handle object, const char* where) {
  if (is_array(object)) {
    const Array& array = array_of(object);
    Leaf leaf;
    leaf.type = array.tensor.type();
    leaf.data = array.tensor.bytes().data();
    leaf.owner = py::reinterpret_borrow<py::object>(object);
    leaf.tensor = &array.tensor;
    leaf.borrowed = array.borrowed;
    return leaf;
  }
  if (is_ndarray(object)) return leaf_of_ndarray(object, where);
  if (PyFloat_Check(object.ptr()))
    return number_leaf(Dtype::kF32, static_cast<float>(PyFloat_AS_DOUBLE(object.ptr())));
  if (PyBool_Check(object.ptr())) return number_leaf(Dtype::kBool, object.ptr() == Py_True);
  if (PyLong_Check(object.ptr())) return integer_leaf(object, where);
  if (is_key(object))
    return number_leaf(Dtype::kI64, static_cast<std::int64_t>(key_of(object).bits()));
  const py::module_ numpy = py::module_::import("numpy");
  // NumPy's scalars have buffers, too, but the buffer of a date does not tell its type.
  if (PyObject_CheckBuffer(object.ptr()) && !has(object, "__array_interface__"))
    return leaf_of_ndarray(
        numpy.attr("asarray")(py::memoryview(py::reinterpret_borrow<py::object>(object))), where);
  if (has(object, "__dlpack__")) return from_dlpack(object, where);
  if (has(object, "__array_interface__") || has(object, "__array__")) {
    const py::object there = numpy.attr("asarray")(object);
    if (is_ndarray(there)) return leaf_of_ndarray(there, where);
  }
  const bool list = PyList_Check(object.ptr()) || PyTuple_Check(object.ptr());
  throw_type(std::string(where) + ": expected an array, a number or a Key, not " +
             type_name(object) +
             (list                            ? "; lp.asarray makes an array of it"
              : PyUnicode_Check(object.ptr()) ? "; functools.partial gives code its options"
                                              : ""));
}

Tensor tensor_of(const Leaf& leaf) {
  if (leaf.tensor && !leaf.borrowed) return *leaf.tensor;
  if (!leaf.data || leaf.type.bytes() == 0)
    return Tensor::generate_bytes(leaf.type, [&](std::span<std::byte> out) {
      if (!out.empty()) std::memcpy(out.data(), leaf.bytes(), out.size());
    });
  // What was borrowed gets an owner of its own each time: nobody may take it for what it was
  // before.
  const std::shared_ptr<const void> owner(new py::object(leaf.owner), [](const void* pointer) {
    const Locked gil;
    delete static_cast<const py::object*>(pointer);
  });
  return Tensor::borrow(leaf.type, {static_cast<const std::byte*>(leaf.data), leaf.type.bytes()},
                        owner);
}

Tensor copied(const Leaf& leaf) {
  return Tensor::generate_bytes(leaf.type, [&](std::span<std::byte> out) {
    if (!out.empty()) std::memcpy(out.data(), leaf.bytes(), out.size());
  });
}

Tensor constant_of(const Leaf& leaf) { return leaf.borrowed ? copied(leaf) : tensor_of(leaf); }

py::object numpy_dtype(Dtype dtype) {
  if (dtype == Dtype::kBf16) {
    try {
      return py::module_::import("numpy").attr("dtype")(
          py::module_::import("ml_dtypes").attr("bfloat16"));
    } catch (py::error_already_set& error) {
      if (!error.matches(PyExc_ImportError)) throw;
      return py::none();
    }
  }
  const char* name = nullptr;
  switch (dtype) {
    case Dtype::kF32:
      name = "float32";
      break;
    case Dtype::kF64:
      name = "float64";
      break;
    case Dtype::kF16:
      name = "float16";
      break;
    case Dtype::kI32:
      name = "int32";
      break;
    case Dtype::kI64:
      name = "int64";
      break;
    case Dtype::kI8:
      name = "int8";
      break;
    case Dtype::kU8:
      name = "uint8";
      break;
    case Dtype::kBool:
    case Dtype::kBf16:
      name = "bool";
      break;
  }
  return py::dtype(name);
}

Dtype dtype_from(py::handle object) {
  if (py::isinstance<py::str>(object)) {
    const std::string text = py::cast<std::string>(object);
    if (const std::optional<Dtype> dtype = dtype_from_name(text)) return *dtype;
    if (text == "bfloat16") return Dtype::kBf16;
  }
  if (PyUnicode_Check(object.ptr()) || PyType_Check(object.ptr()) || has(object, "newbyteorder")) {
    py::object descriptor;
    try {
      descriptor = py::module_::import("numpy").attr("dtype")(object);
    } catch (py::error_already_set& error) {
      if (!error.matches(PyExc_TypeError)) throw;
    }
    if (descriptor) {
      const int number = py::cast<int>(descriptor.attr("num"));
      if (const std::optional<Dtype> dtype = dtype_of_number(number)) return *dtype;
      if (is_bfloat16(descriptor)) return Dtype::kBf16;
    }
  }
  throw_type(
      "dtype: expected f32, f64, bf16, f16, i32, i64, i8, u8 or bool, or NumPy's name of one, "
      "not " +
      py::repr(object).cast<std::string>());
}

std::int64_t integer_from(py::handle object) {
  const py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(object.ptr()));
  if (!index) throw py::error_already_set();
  const long long value = PyLong_AsLongLong(index.ptr());
  if (value == -1 && PyErr_Occurred()) throw py::error_already_set();
  return value;
}

Shape shape_from(py::handle object) {
  std::vector<std::int64_t> dims;
  if (PyLong_Check(object.ptr()) && !PyBool_Check(object.ptr())) {
    dims.push_back(integer_from(object));
  } else {
    if (!PySequence_Check(object.ptr()) || PyUnicode_Check(object.ptr()))
      throw_type("shape: expected a tuple of integers, not " + type_name(object));
    for (const py::handle n : py::reinterpret_borrow<py::object>(object))
      dims.push_back(integer_from(n));
  }
  return Shape(std::span<const std::int64_t>(dims));
}

py::tuple shape_tuple(const Shape& shape) {
  py::tuple dims(shape.rank());
  for (std::size_t d = 0; d < shape.rank(); ++d) dims[d] = py::int_(shape[d]);
  return dims;
}

void add_arrays(py::module_& m) {
  py::class_<Key> key(m, "Key", py::is_final(),
                      "A random key: a value that stands for an endless table of random words.\n\n"
                      "Parameters\n----------\nbits : int\n    Its 64 bits: equal bits, equal "
                      "numbers on every machine.\n");
  key.def(py::init<std::uint64_t>(), py::arg("bits") = 0)
      .def("fold_in", method(&Key::fold_in), py::arg("data"),
           "A key for a purpose numbered by `data`, unrelated to this key's words and to its other "
           "children.")
      .def_property_readonly("bits", method(&Key::bits), "The 64 bits.")
      .def("__eq__", [](const Key& a, const py::object& b) { return is_key(b) && a == key_of(b); })
      .def("__hash__", [](const Key& k) { return std::hash<std::uint64_t>()(k.bits()); })
      .def("__reduce__",
           [](const py::object& self) {
             if (!is_key(self)) throw_type("expected a Key, not " + type_name(self));
             return py::make_tuple(py::type::of(self), py::make_tuple(key_of(self).bits()));
           })
      .def("__repr__", [](const Key& k) { return "limpid.Key(" + std::to_string(k.bits()) + ")"; });
  key_type = reinterpret_cast<PyTypeObject*>(key.ptr());

  py::class_<Array> type(m, "Array", py::is_final(), py::buffer_protocol(),
                         "An immutable array: what functions give.\n\nNumPy reads it without a "
                         "copy (``np.asarray(a)``, "
                         "read-only), and so does whatever knows the\nbuffer protocol or DLPack. "
                         "Operators and methods "
                         "compute with Limpid's own arithmetic.\n");
  array_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  type.def_buffer(&buffer_of)
      .def(made_by<Array>("Array", "lp.array and lp.asarray make one"))
      .def_property_readonly(
          "shape", [](const Array& a) { return shape_tuple(a.tensor.shape()); },
          "The dimensions, a tuple.")
      .def_property_readonly(
          "dtype",
          [](const Array& a) -> py::object {
            const py::object dtype = numpy_dtype(a.tensor.dtype());
            return dtype.is_none() ? py::object(py::str("bfloat16")) : dtype;
          },
          "NumPy's dtype of the elements; for bf16 that of ml_dtypes, and 'bfloat16' without it.")
      .def_property_readonly(
          "type", [](const Array& a) { return to_string(a.tensor.type()); },
          "Element type and shape as text: 'f32[2, 3]'.")
      .def_property_readonly(
          "ndim", [](const Array& a) { return a.tensor.shape().rank(); },
          "The number of dimensions.")
      .def_property_readonly(
          "size", [](const Array& a) { return a.tensor.elements(); }, "The number of elements.")
      .def_property_readonly(
          "nbytes", [](const Array& a) { return a.tensor.type().bytes(); },
          "The bytes of all elements.")
      .def_property_readonly(
          "hash", [](const Array& a) { return hash_of_numbers(a.tensor); },
          "64-bit FNV-1a of type and elements, as `limpid hash` has it.")
      .def_property_readonly("__array_interface__", &array_interface)
      .def("numpy", &to_numpy, "A NumPy array on the same elements, read-only.")
      .def(
          "__array__",
          [](const py::object& self, const py::object& dtype, const py::object& copy) {
            const py::object there = to_numpy(self);
            const py::object array =
                dtype.is_none() ? there : there.attr("astype")(dtype, py::arg("copy") = false);
            if (copy.is_none()) return array;
            if (py::cast<bool>(copy)) return array.attr("copy")();
            if (!array.is(there) || numpy_dtype(array_of(self).tensor.dtype()).is_none())
              throw py::value_error("__array__: without a copy there are no elements of " +
                                    py::str(array.attr("dtype")).cast<std::string>());
            return array;
          },
          py::arg("dtype") = py::none(), py::arg("copy") = py::none())
      .def(
          "__dlpack__",
          [](const Array& a, const py::object&, const py::object& max_version,
             const py::object& device, const py::object& copy) {
            const bool versioned =
                !max_version.is_none() && py::cast<int>(max_version[py::int_(0)]) >= 1;
            if (!device.is_none() && py::cast<int>(device[py::int_(0)]) != kDlCpu)
              throw py::buffer_error("__dlpack__: the elements are in the memory of a CPU");
            if (!copy.is_none() && !py::cast<bool>(copy) && !versioned)
              throw py::buffer_error("__dlpack__: without a copy, expected max_version=(1, 0): " +
                                     std::string(kNoReadOnly));
            return to_dlpack(a, versioned,
                             copy.is_none() ? std::nullopt : std::optional(py::cast<bool>(copy)));
          },
          py::kw_only(), py::arg("stream") = py::none(), py::arg("max_version") = py::none(),
          py::arg("dl_device") = py::none(), py::arg("copy") = py::none())
      .def("__dlpack_device__", [](const Array&) { return py::make_tuple(kDlCpu, 0); })
      .def("item", &item_of, "The only element, as a number of Python's.")
      .def(
          "same_bits",
          [](const Array& a, const py::object& b) {
            return a.tensor.same_bits(tensor_of(leaf_of(b, "same_bits")));
          },
          py::arg("other"),
          "The same type and the same bytes: -0 and +0 differ, NaN equals itself.")
      .def("__len__",
           [](const Array& a) {
             if (a.tensor.shape().rank() == 0) throw_type("len() of an array without dimensions");
             return a.tensor.shape()[0];
           })
      .def("_row",
           [](const Array& a, std::int64_t i) {
             const Tensor row = a.tensor.rows(i, 1);
             return to_python(row.reshape(row.shape().erase(0)), a.borrowed);
           })
      .def("_rows",
           [](const Array& a, std::int64_t first, std::int64_t count) {
             return to_python(a.tensor.rows(first, count), a.borrowed);
           })
      .def("__repr__", &repr_of);

  described = std::exchange(array_type->tp_as_buffer->bf_getbuffer, get_buffer);

  m.def("asarray", [](const py::object& object) {
    if (is_array(object)) return object;
    const Leaf leaf = leaf_of(object, "asarray");
    return to_python(tensor_of(leaf), leaf.borrowed);
  });
  m.def("array",
        [](const py::object& object) { return to_python(copied(leaf_of(object, "array"))); });
  m.def("is_leaf", [](const py::object& object) { return is_leaf(object); });
  m.def("dtype_name",
        [](const py::object& object) { return std::string(name(dtype_from(object))); });
  m.def("set_on_copy", [](int mode) {
    const int before = static_cast<int>(on_copy);
    on_copy = static_cast<OnCopy>(std::clamp(mode, 0, 2));
    return before;
  });
}

}  // namespace limpid::python
