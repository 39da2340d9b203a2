// Trees: what Python code takes and gives. A leaf is an array, a number, a Key or a Value; a tree
// is a leaf, None, or a dict, Params, list or tuple of trees, as JAX has them. Depends on array.h.
#pragma once

#include <string>
#include <vector>

#include "array.h"

namespace limpid::python {

// The form of a tree, without its leaves: its nodes from the root on, each before its parts.
class Tree {
 public:
  enum class Kind : std::uint8_t { kLeaf, kNone, kTuple, kList, kDict, kParams, kNamedTuple, kKey };

  // Takes an object apart; its leaves are appended. Throws TypeError for what is no tree.
  static Tree flatten(py::handle object, std::vector<py::object>& leaves);

  // The leaves of an object of this form in the order of this tree: mappings are of one form where
  // their keys are, in any order. `what` opens the message of the ValueError for another form.
  std::vector<py::object> leaves_of(py::handle object, const std::string& what) const;

  // A tree of this form, with its leaves from `next` on; `next` moves past them.
  py::object build(const std::vector<py::object>& leaves, std::size_t& next) const;
  std::size_t leaves() const;

  // Names of the leaves, where the tree is the tuple of the arguments of a call. Those in a mapping
  // have its own, nested ones joined by dots; others are called after the argument.
  std::vector<std::string> names(const std::vector<std::string>& arguments) const;

  // Whether each leaf stands in a mapping.
  std::vector<bool> in_mapping() const;

  bool operator==(const Tree& other) const;

  // For the collector of cycles: the keys and types that the form holds.
  int traverse(visitproc visit, void* arg) const;

 private:
  // A tuple or list of `count` parts; a dict of `count` pairs of a kKey and a part.
  struct Node {
    Kind kind;
    std::size_t count = 0;
    py::object object;  // the key, or the type of a named tuple
  };
  void add(py::handle object, std::vector<py::object>& leaves, int depth);
  void add_mapping(Kind kind, py::handle dict, std::vector<py::object>& leaves, int depth);
  py::object part(const std::vector<py::object>& leaves, std::size_t& node,
                  std::size_t& next) const;
  void take(py::handle object, std::size_t& node, const std::string& what, const std::string& path,
            std::vector<py::object>& leaves) const;
  void add_in_mapping(std::size_t& node, bool inside, std::vector<bool>& all) const;
  void add_names(std::size_t& node, const std::string& position, const std::string& path,
                 bool in_mapping, class Names& names) const;

  std::vector<Node> nodes_;
};

// Whether the object is a limpid.Params, and one with these entries, a dict.
bool is_params(py::handle object);
py::object make_params(py::object entries);

}  // namespace limpid::python
