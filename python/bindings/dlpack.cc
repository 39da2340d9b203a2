#include "dlpack.h"

#include <array>
#include <memory>

namespace limpid::python {
namespace {

constexpr const char* kName = "dltensor";
constexpr const char* kVersionedName = "dltensor_versioned";

DlDtype dl_dtype(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF32:
      return {2, 32, 1};
    case Dtype::kF64:
      return {2, 64, 1};
    case Dtype::kBf16:
      return {4, 16, 1};
    case Dtype::kF16:
      return {2, 16, 1};
    case Dtype::kI32:
      return {0, 32, 1};
    case Dtype::kI64:
      return {0, 64, 1};
    case Dtype::kI8:
      return {0, 8, 1};
    case Dtype::kU8:
      return {1, 8, 1};
    case Dtype::kBool:
      return {6, 8, 1};
  }
  return {};
}

std::optional<Dtype> dtype_of_dl(DlDtype wanted) {
  for (const Dtype d : {Dtype::kF32, Dtype::kF64, Dtype::kBf16, Dtype::kF16, Dtype::kI32,
                        Dtype::kI64, Dtype::kI8, Dtype::kU8, Dtype::kBool}) {
    const DlDtype had = dl_dtype(d);
    if (had.code == wanted.code && had.bits == wanted.bits && wanted.lanes == 1) return d;
  }
  return {};
}

// What a capsule points to, beside the tensor whose elements it shows.
template <class Managed>
struct Exported {
  Managed managed = {};
  Tensor tensor;
  std::array<std::int64_t, Shape::kMaxRank> shape = {}, strides = {};
};

template <class Managed>
void end_capsule(PyObject* capsule) {
  constexpr const char* name = std::is_same_v<Managed, DlManagedTensor> ? kName : kVersionedName;
  // One that was used has another name, and its user ends it.
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

template <class Managed>
py::object capsule_of(Tensor tensor, [[maybe_unused]] std::uint64_t flags) {
  auto made = std::make_unique<Exported<Managed>>();
  const Shape& shape = tensor.shape();
  std::int64_t step = 1;
  for (std::size_t d = shape.rank(); d-- > 0; step *= shape[d]) {
    made->shape[d] = shape[d];
    made->strides[d] = step;
  }
  DlTensor& t = made->managed.tensor;
  t.data = const_cast<std::byte*>(tensor.bytes().data());
  t.device = {kDlCpu, 0};
  t.rank = static_cast<std::int32_t>(shape.rank());
  t.dtype = dl_dtype(tensor.dtype());
  t.shape = made->shape.data();
  t.strides = made->strides.data();
  made->tensor = std::move(tensor);
  made->managed.context = made.get();
  made->managed.deleter = [](Managed* self) {
    delete static_cast<Exported<Managed>*>(self->context);
  };
  constexpr const char* name = std::is_same_v<Managed, DlManagedTensor> ? kName : kVersionedName;
  PyObject* const capsule = PyCapsule_New(&made->managed, name, end_capsule<Managed>);
  if (!capsule) throw py::error_already_set();
  if constexpr (std::is_same_v<Managed, DlManagedTensorVersioned>) {
    made->managed.major = 1;
    made->managed.flags = flags;
  }
  made.release();
  return py::reinterpret_steal<py::object>(capsule);
}

// Ends what was received, when the last that reads it is gone.
template <class Managed>
py::object keeper(Managed* managed) {
  return py::capsule(managed, [](void* pointer) {
    auto* const m = static_cast<Managed*>(pointer);
    if (m->deleter) m->deleter(m);
  });
}

template <class Managed>
Leaf received(PyObject* capsule, const char* name, const char* used, const char* where) {
  auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (!managed || PyCapsule_SetName(capsule, used) != 0) throw py::error_already_set();
  const py::object owner = keeper(managed);
  const DlTensor& t = managed->tensor;
  if (t.device.type != kDlCpu)
    throw py::value_error(std::string(where) +
                          ": the tensor is not in the memory of a CPU; move it there first");
  const std::optional<Dtype> dtype = dtype_of_dl(t.dtype);
  if (!dtype)
    throw_type(std::string(where) + ": Limpid has no dtype for DLPack's code " +
               std::to_string(t.dtype.code) + " of " + std::to_string(t.dtype.bits) + " bits");
  if (t.rank < 0 || static_cast<std::size_t>(t.rank) > Shape::kMaxRank)
    throw py::value_error(std::string(where) + ": an array has at most 8 dimensions, this one " +
                          std::to_string(t.rank));
  Leaf leaf;
  leaf.type = {*dtype,
               Shape(std::span<const std::int64_t>(t.shape, static_cast<std::size_t>(t.rank)))};
  leaf.data = static_cast<const std::byte*>(t.data) + t.byte_offset;
  leaf.owner = owner;
  leaf.borrowed = true;  // read-only means that this side does not write
  const std::size_t size = size_of(*dtype);
  bool row_major = true;
  std::int64_t step = 1;
  for (std::size_t d = leaf.type.shape.rank(); d-- > 0; step *= leaf.type.shape[d])
    row_major = row_major && (!t.strides || leaf.type.shape[d] == 1 || t.strides[d] == step);
  if (leaf.type.shape.elements() == 0) return leaf_of(to_python(Tensor::zeros(leaf.type)), where);
  if (row_major && reinterpret_cast<std::uintptr_t>(leaf.data) % size == 0) {
    check_bools(leaf, where);
    return leaf;
  }
  say_copy(where, row_major ? "it is not aligned" : "it is not row-major");
  const Shape shape = leaf.type.shape;
  const auto* const base = static_cast<const std::byte*>(leaf.data);
  Tensor straight = Tensor::generate_bytes(leaf.type, [&](std::span<std::byte> out) {
    std::array<std::int64_t, Shape::kMaxRank> index{};
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      std::int64_t offset = 0, row_step = 1;
      for (std::size_t d = shape.rank(); d-- > 0; row_step *= shape[d])
        offset += index[d] * (t.strides ? t.strides[d] : row_step);
      std::memcpy(out.data() + static_cast<std::size_t>(i) * size,
                  base + offset * static_cast<std::int64_t>(size), size);
      for (std::size_t d = shape.rank(); d-- > 0;) {
        if (++index[d] < shape[d]) break;
        index[d] = 0;
      }
    }
  });
  Leaf made = leaf_of(to_python(std::move(straight)), where);
  check_bools(made, where);
  return made;
}

}  // namespace

py::object to_dlpack(const Array& array, bool versioned, std::optional<bool> copy) {
  Tensor tensor = array.tensor;
  const bool shared = versioned && copy == false;
  if (!shared) {
    // PyTorch 2.11 lets programs write to what is marked as read-only.
    if (!copy)
      say_copy("__dlpack__", versioned ? "not all programs heed read-only; copy=False shares memory"
                                       : kNoReadOnly);
    tensor = Tensor::generate_bytes(tensor.type(), [&](std::span<std::byte> out) {
      if (!out.empty()) std::memcpy(out.data(), tensor.bytes().data(), out.size());
    });
  }
  return versioned ? capsule_of<DlManagedTensorVersioned>(tensor, shared ? kDlReadOnly : kDlCopied)
                   : capsule_of<DlManagedTensor>(tensor, 0);
}

namespace {

py::object capsule_from(py::handle object) {
  const py::object method = object.attr("__dlpack__");
  try {
    return method(py::arg("max_version") = py::make_tuple(1, 0));
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return method();
}

}  // namespace

Leaf from_dlpack(py::handle object, const char* where) {
  py::object capsule;
  try {
    capsule = capsule_from(object);
  } catch (py::error_already_set& error) {
    // PyTorch before version 2 has no bool there, and says so by a RuntimeError.
    if (!error.matches(PyExc_Exception) || !py::hasattr(py::type::handle_of(object), "__array__"))
      throw;
    const py::object array = py::module_::import("numpy").attr("asarray")(object);
    return leaf_of(array, where);
  }
  if (PyCapsule_IsValid(capsule.ptr(), kVersionedName)) {
    const auto* const managed =
        static_cast<DlManagedTensorVersioned*>(PyCapsule_GetPointer(capsule.ptr(), kVersionedName));
    if (managed->major != 1)
      throw py::value_error(std::string(where) + ": version " + std::to_string(managed->major) +
                            " of DLPack is not known; expected 1");
    return received<DlManagedTensorVersioned>(capsule.ptr(), kVersionedName,
                                              "used_dltensor_versioned", where);
  }
  if (!PyCapsule_IsValid(capsule.ptr(), kName))
    throw_type(std::string(where) + ": __dlpack__ gave " + type_name(capsule) +
               ", expected a capsule named dltensor");
  return received<DlManagedTensor>(capsule.ptr(), kName, "used_dltensor", where);
}

}  // namespace limpid::python
