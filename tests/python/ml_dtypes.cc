// A stand-in for the package ml_dtypes, which Debian does not have: it registers a dtype
// bfloat16 with NumPy in the same way, so that the tests of arrays meet one. Of its arithmetic only
// the casts to and from float32 are here.
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>

#include <cstdint>
#include <cstring>
#include <utility>

namespace {

// The structure by which NumPy learns of a dtype: another one since version 2.
#if NPY_ABI_VERSION < 0x02000000
using Description = PyArray_Descr;
#else
using Description = PyArray_DescrProto;
#endif

std::uint16_t narrowed(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
float widened(std::uint16_t bits) {
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

struct Scalar {
  PyObject_HEAD std::uint16_t bits;
};
PyTypeObject scalar_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyArray_ArrFuncs functions;
Description description;  // NumPy keeps its address
PyNumberMethods number_methods;

std::uint16_t bits_at(const void* data) {
  std::uint16_t bits;
  std::memcpy(&bits, data, sizeof bits);
  return bits;
}

PyObject* scalar_from(std::uint16_t bits) {
  auto* const scalar = reinterpret_cast<Scalar*>(scalar_type.tp_alloc(&scalar_type, 0));
  if (scalar) scalar->bits = bits;
  return reinterpret_cast<PyObject*>(scalar);
}
PyObject* new_scalar(PyTypeObject*, PyObject* args, PyObject*) {
  double value = 0;
  return PyArg_ParseTuple(args, "|d", &value) ? scalar_from(narrowed(static_cast<float>(value)))
                                              : nullptr;
}
PyObject* to_float(PyObject* self) {
  return PyFloat_FromDouble(widened(reinterpret_cast<Scalar*>(self)->bits));
}

PyObject* get_item(void* data, void*) { return scalar_from(bits_at(data)); }
int set_item(PyObject* item, void* data, void*) {
  const double value = PyFloat_AsDouble(item);
  if (value == -1 && PyErr_Occurred()) return -1;
  const std::uint16_t bits = narrowed(static_cast<float>(value));
  std::memcpy(data, &bits, sizeof bits);
  return 0;
}
void copy_swap(void* to, void* from, int swap, void*) {
  if (from) std::memcpy(to, from, 2);
  if (swap) std::swap(static_cast<char*>(to)[0], static_cast<char*>(to)[1]);
}
void copy_swap_all(void* to, npy_intp to_step, void* from, npy_intp from_step, npy_intp n, int swap,
                   void* array) {
  for (npy_intp i = 0; i < n; ++i)
    copy_swap(static_cast<char*>(to) + i * to_step,
              from ? static_cast<char*>(from) + i * from_step : nullptr, swap, array);
}
npy_bool is_not_zero(void* data, void*) { return (bits_at(data) & 0x7fff) != 0; }

void widen_all(void* from, void* to, npy_intp n, void*, void*) {
  for (npy_intp i = 0; i < n; ++i)
    static_cast<float*>(to)[i] = widened(static_cast<std::uint16_t*>(from)[i]);
}
void narrow_all(void* from, void* to, npy_intp n, void*, void*) {
  for (npy_intp i = 0; i < n; ++i)
    static_cast<std::uint16_t*>(to)[i] = narrowed(static_cast<float*>(from)[i]);
}

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "ml_dtypes", nullptr, -1};

}  // namespace

PyMODINIT_FUNC PyInit_ml_dtypes() {
  import_array();
  number_methods.nb_float = to_float;
  scalar_type.tp_name = "ml_dtypes.bfloat16";
  scalar_type.tp_basicsize = sizeof(Scalar);
  scalar_type.tp_flags = Py_TPFLAGS_DEFAULT;
  scalar_type.tp_base = &PyGenericArrType_Type;
  scalar_type.tp_new = new_scalar;
  scalar_type.tp_as_number = &number_methods;
  if (PyType_Ready(&scalar_type) < 0) return nullptr;

  PyArray_InitArrFuncs(&functions);
  functions.getitem = get_item;
  functions.setitem = set_item;
  functions.copyswap = copy_swap;
  functions.copyswapn = copy_swap_all;
  functions.nonzero = is_not_zero;
  PyObject_Init(reinterpret_cast<PyObject*>(&description), &PyArrayDescr_Type);
  Py_INCREF(&scalar_type);
  description.typeobj = &scalar_type;
  description.kind = 'V';
  description.type = 'E';
  description.byteorder = '=';
  description.flags = NPY_NEEDS_PYAPI | NPY_USE_SETITEM;
  description.elsize = 2;
  description.alignment = 2;
  description.hash = -1;
  description.f = &functions;
  const int number = PyArray_RegisterDataType(&description);
  if (number < 0) return nullptr;
  PyArray_Descr* const dtype = PyArray_DescrFromType(number);
  PyArray_Descr* const f32 = PyArray_DescrFromType(NPY_FLOAT);
  if (PyArray_RegisterCastFunc(dtype, NPY_FLOAT, widen_all) < 0 ||
      PyArray_RegisterCastFunc(f32, number, narrow_all) < 0)
    return nullptr;
  Py_DECREF(dtype);
  Py_DECREF(f32);

  PyObject* const module = PyModule_Create(&definition);
  if (!module) return nullptr;
  // PyModule_AddObjectRef is new in Python 3.10.
  Py_INCREF(&scalar_type);
  if (PyModule_AddObject(module, "bfloat16", reinterpret_cast<PyObject*>(&scalar_type)) < 0)
    Py_DECREF(&scalar_type);
  return module;
}
