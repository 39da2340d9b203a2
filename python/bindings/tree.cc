#include "tree.h"

#include <set>

#include "limpid/core/params.h"
#include "value.h"

namespace limpid::python {
namespace {

// A deeper tree most likely contains itself.
constexpr int kMaxDepth = 64;

PyTypeObject* params_type = nullptr;

bool same_object(const py::object& a, const py::object& b) {
  if (a.ptr() == b.ptr()) return true;
  const int same = PyObject_RichCompareBool(a.ptr(), b.ptr(), Py_EQ);
  if (same < 0) throw py::error_already_set();
  return same != 0;
}

// Created once and never destroyed: Python may be finalized first.
PyObject* entries_name() {
  static PyObject* const name = PyUnicode_InternFromString("_entries");
  return name;
}

bool is_mapping(py::handle object) {
  static PyObject* const mapping =
      py::object(py::module_::import("collections.abc").attr("Mapping")).release().ptr();
  const int is = PyObject_IsInstance(object.ptr(), mapping);
  if (is < 0) throw py::error_already_set();
  return is != 0;
}

}  // namespace

// Unique names, as limpid::detail::InputNames makes them, for trees that are known at run time
// only.
class Names {
 public:
  void add(const std::string& position, std::string name) {
    while (!taken_.insert(name).second)
      name = Params::join(position.empty() ? "_" : position, name);
    all.push_back(std::move(name));
  }
  std::vector<std::string> all;

 private:
  std::set<std::string> taken_;
};

bool is_params(py::handle object) { return Py_TYPE(object.ptr()) == params_type; }

py::object make_params(py::object entries) {
  static PyObject* const none = PyTuple_New(0);
  const py::object made =
      py::reinterpret_steal<py::object>(params_type->tp_new(params_type, none, nullptr));
  if (!made || PyObject_GenericSetAttr(made.ptr(), entries_name(), entries.ptr()) != 0)
    throw py::error_already_set();
  return made;
}

Tree Tree::flatten(py::handle object, std::vector<py::object>& leaves) {
  Tree tree;
  // Of most calls.
  tree.nodes_.reserve(16);
  leaves.reserve(8);
  tree.add(object, leaves, 0);
  return tree;
}

void Tree::add_mapping(Kind kind, py::handle dict, std::vector<py::object>& leaves, int depth) {
  nodes_.push_back({kind, static_cast<std::size_t>(PyDict_Size(dict.ptr())), {}});
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(dict.ptr(), &position, &key, &value) != 0) {
    nodes_.push_back({Kind::kKey, 0, py::reinterpret_borrow<py::object>(key)});
    const py::object held = py::reinterpret_borrow<py::object>(value);
    add(held, leaves, depth + 1);
  }
}

void Tree::add(py::handle object, std::vector<py::object>& leaves, int depth) {
  if (depth > kMaxDepth)
    throw py::value_error("a tree of arrays is at most 64 levels deep; this one holds itself?");
  PyObject* const o = object.ptr();
  if (is_params(object)) {
    const py::object entries =
        py::reinterpret_steal<py::object>(PyObject_GetAttr(o, entries_name()));
    if (!entries || !PyDict_Check(entries.ptr())) throw_type("Params: it was never made");
    return add_mapping(Kind::kParams, entries, leaves, depth);
  }
  if (is_array(object) || is_value(object)) {
    nodes_.push_back({Kind::kLeaf, 0, {}});
    leaves.push_back(py::reinterpret_borrow<py::object>(object));
    return;
  }
  if (PyDict_Check(o)) {
    // A copy: the called code may change the original.
    const py::object copy = py::reinterpret_steal<py::object>(PyDict_Copy(o));
    if (!copy) throw py::error_already_set();
    return add_mapping(Kind::kDict, copy, leaves, depth);
  }
  if (PyTuple_Check(o)) {
    const bool named = !PyTuple_CheckExact(o) && PyObject_HasAttrString(o, "_fields") != 0;
    const Py_ssize_t size = PyTuple_GET_SIZE(o);
    nodes_.push_back({named ? Kind::kNamedTuple : Kind::kTuple, static_cast<std::size_t>(size),
                      named ? py::object(py::type::of(object)) : py::object()});
    for (Py_ssize_t i = 0; i < size; ++i) add(PyTuple_GET_ITEM(o, i), leaves, depth + 1);
    return;
  }
  if (PyList_Check(o)) {
    const py::object copy = py::reinterpret_steal<py::object>(PyList_AsTuple(o));
    if (!copy) throw py::error_already_set();
    nodes_.push_back({Kind::kList, static_cast<std::size_t>(PyTuple_GET_SIZE(copy.ptr())), {}});
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(copy.ptr()); ++i)
      add(PyTuple_GET_ITEM(copy.ptr(), i), leaves, depth + 1);
    return;
  }
  if (object.is_none()) {
    nodes_.push_back({Kind::kNone, 0, {}});
    return;
  }
  if (!is_leaf(object) && is_mapping(object)) {
    const py::dict copy(py::reinterpret_borrow<py::object>(object));
    return add_mapping(Kind::kDict, copy, leaves, depth);
  }
  nodes_.push_back({Kind::kLeaf, 0, {}});
  leaves.push_back(py::reinterpret_borrow<py::object>(object));
}

py::object Tree::part(const std::vector<py::object>& leaves, std::size_t& node,
                      std::size_t& next) const {
  const Node& n = nodes_[node++];
  switch (n.kind) {
    case Kind::kLeaf:
      return leaves[next++];
    case Kind::kKey:
    case Kind::kNone:
      return py::none();
    case Kind::kList: {
      py::list all;
      for (std::size_t i = 0; i < n.count; ++i) all.append(part(leaves, node, next));
      return all;
    }
    case Kind::kTuple:
    case Kind::kNamedTuple: {
      py::tuple all(n.count);
      for (std::size_t i = 0; i < n.count; ++i) all[i] = part(leaves, node, next);
      return n.kind == Kind::kTuple ? py::object(all) : n.object(*all);
    }
    case Kind::kDict:
    case Kind::kParams: {
      py::dict all;
      for (std::size_t i = 0; i < n.count; ++i) {
        const py::object& key = nodes_[node++].object;
        const py::object value = part(leaves, node, next);
        if (PyDict_SetItem(all.ptr(), key.ptr(), value.ptr()) != 0) throw py::error_already_set();
      }
      return n.kind == Kind::kDict ? py::object(all) : make_params(all);
    }
  }
  return py::none();
}

py::object Tree::build(const std::vector<py::object>& leaves, std::size_t& next) const {
  if (next + this->leaves() > leaves.size())
    throw py::value_error("a tree of " + std::to_string(this->leaves()) +
                          " leaves cannot be made of " + std::to_string(leaves.size()));
  std::size_t node = 0;
  return part(leaves, node, next);
}

void Tree::take(py::handle object, std::size_t& node, const std::string& what,
                const std::string& path, std::vector<py::object>& leaves) const {
  const Node& n = nodes_[node++];
  const auto expected = [&](const std::string& form) {
    throw py::value_error(what + (path.empty() ? "" : ": at '" + path + "'") + ": expected " +
                          form + ", not " + type_name(object));
  };
  const auto within = [&](const std::string& name) { return Params::join(path, name); };
  PyObject* const o = object.ptr();
  const bool mapping = !is_leaf(object) && (PyDict_Check(o) || is_mapping(object));
  switch (n.kind) {
    case Kind::kLeaf:
      if (object.is_none() || mapping || PyTuple_Check(o) || PyList_Check(o)) expected("an array");
      leaves.push_back(py::reinterpret_borrow<py::object>(object));
      return;
    case Kind::kKey:
    case Kind::kNone:
      if (!object.is_none()) expected("None");
      return;
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kNamedTuple: {
      const bool list = n.kind == Kind::kList;
      if (list ? !PyList_Check(o)
               : !PyTuple_Check(o) || (n.object && !n.object.is(py::type::of(object))))
        expected(list ? "a list" : n.object ? "another named tuple" : "a tuple");
      const py::tuple parts = py::reinterpret_steal<py::tuple>(PySequence_Tuple(o));
      if (!parts) throw py::error_already_set();
      if (parts.size() != n.count)
        expected(std::to_string(n.count) + " parts and no " + std::to_string(parts.size()));
      for (std::size_t i = 0; i < n.count; ++i)
        take(parts[i], node, what, within(std::to_string(i)), leaves);
      return;
    }
    case Kind::kDict:
    case Kind::kParams: {
      if (!mapping) expected("a mapping");
      const py::dict entries(py::reinterpret_borrow<py::object>(object));
      for (std::size_t i = 0; i < n.count; ++i) {
        const py::object& key = nodes_[node++].object;
        const std::string name = py::str(key).cast<std::string>();
        if (!entries.contains(key)) expected("a mapping with '" + name + "'");
        take(entries[key], node, what, within(name), leaves);
      }
      if (entries.size() != n.count)
        expected("a mapping of " + std::to_string(n.count) + " and no " +
                 std::to_string(entries.size()));
    }
  }
}

std::vector<py::object> Tree::leaves_of(py::handle object, const std::string& what) const {
  std::vector<py::object> leaves;
  std::size_t node = 0;
  take(object, node, what, "", leaves);
  return leaves;
}

int Tree::traverse(visitproc visit, void* arg) const {
  for (const Node& n : nodes_) Py_VISIT(n.object.ptr());
  return 0;
}

std::size_t Tree::leaves() const {
  std::size_t count = 0;
  for (const Node& n : nodes_) count += n.kind == Kind::kLeaf;
  return count;
}

void Tree::add_names(std::size_t& node, const std::string& position, const std::string& path,
                     bool in_mapping, Names& names) const {
  const Node& n = nodes_[node++];
  switch (n.kind) {
    case Kind::kLeaf:
      return names.add(in_mapping ? position : "", in_mapping ? path : position);
    case Kind::kNone:
    case Kind::kKey:
      return;
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kNamedTuple:
      for (std::size_t i = 0; i < n.count; ++i) {
        const std::string number = std::to_string(i);
        add_names(node, in_mapping ? position : Params::join(position, number),
                  in_mapping ? Params::join(path, number) : path, in_mapping, names);
      }
      return;
    case Kind::kDict:
    case Kind::kParams:
      for (std::size_t i = 0; i < n.count; ++i) {
        const std::string key = py::str(nodes_[node++].object).cast<std::string>();
        add_names(node, position, in_mapping ? Params::join(path, key) : key, true, names);
      }
  }
}

std::vector<std::string> Tree::names(const std::vector<std::string>& arguments) const {
  Names names;
  if (nodes_.empty() || nodes_[0].kind != Kind::kTuple) {
    std::size_t node = 0;
    add_names(node, "0", "", false, names);
    return names.all;
  }
  std::size_t node = 1;
  for (std::size_t i = 0; i < nodes_[0].count; ++i)
    add_names(node, i < arguments.size() ? arguments[i] : std::to_string(i), "", false, names);
  return names.all;
}

void Tree::add_in_mapping(std::size_t& node, bool inside, std::vector<bool>& all) const {
  const Node& n = nodes_[node++];
  const bool mapping = n.kind == Kind::kDict || n.kind == Kind::kParams;
  if (n.kind == Kind::kLeaf) all.push_back(inside);
  for (std::size_t i = 0; i < n.count; ++i) {
    if (mapping) ++node;
    add_in_mapping(node, inside || mapping, all);
  }
}

std::vector<bool> Tree::in_mapping() const {
  std::vector<bool> all;
  std::size_t node = 0;
  add_in_mapping(node, false, all);
  return all;
}

bool Tree::operator==(const Tree& other) const {
  if (nodes_.size() != other.nodes_.size()) return false;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].kind != other.nodes_[i].kind || nodes_[i].count != other.nodes_[i].count ||
        (nodes_[i].object && !same_object(nodes_[i].object, other.nodes_[i].object)))
      return false;
  return true;
}

void add_trees(py::module_& m) {
  py::class_<Tree>(m, "Tree", py::is_final(), "The form of a tree of arrays, without its leaves.")
      .def("build",
           [](const Tree& tree, const py::sequence& leaves) {
             const std::vector<py::object> all = items_of(leaves);
             std::size_t next = 0;
             return tree.build(all, next);
           })
      .def(
          "leaves_of",
          [](const Tree& tree, const py::object& object, const std::string& what) {
            py::list all;
            for (const py::object& leaf : tree.leaves_of(object, what)) all.append(leaf);
            return all;
          },
          py::arg("object"), py::arg("what"))
      .def("names",
           [](const Tree& tree) {
             py::list all;
             for (const std::string& name : tree.names({})) all.append(py::str(name));
             return all;
           })
      .def("__eq__", [](const Tree& a, const Tree& b) { return a == b; })
      .def("__len__", method(&Tree::leaves));
  m.def("flatten", [](const py::object& object) {
    std::vector<py::object> leaves;
    Tree tree = Tree::flatten(object, leaves);
    py::list all;
    for (const py::object& leaf : leaves) all.append(leaf);
    return py::make_tuple(all, std::move(tree));
  });
  m.def("set_params_type", [](const py::type& type) {
    params_type = reinterpret_cast<PyTypeObject*>(py::object(type).release().ptr());
  });
}

}  // namespace limpid::python
