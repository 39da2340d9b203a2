// Import of one operator: a table row with the code that turns a node into ops, and the Node that
// this code uses. Depends on function and ops.
//
// A row's code takes the inputs and attributes of the node and returns its outputs:
//
//   Values import_elu(Node& node) { return {elu(node.input(0), node.real("alpha", 1))}; }
//   constexpr NodeOp kActivations[] = {{.name = "Elu", .meaning = "...", .import = import_elu}};
//
// If a value must be known during the import (a shape, an axis, a condition), known() gives it.
// Known values depend only on constants, shapes, and values given for the import.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"

namespace limpid::onnx {

namespace detail {
class Importer;
class Scope;
struct AttributeContents;
struct GraphContents;
struct NodeContents;
}  // namespace detail

using Values = std::vector<Value>;

class Node;

// A graph attribute as a Function: its inputs are those that GraphInputs added to the builder, then
// the captured values of the graphs around.
struct TracedGraph {
  Function function;
  Values captured;
};
// Adds inputs, and returns the arguments of the graph.
using GraphInputs = std::function<Values(Builder& builder)>;
// Receives the outputs of the graph, and changes them to those of the Function.
using GraphResults = std::function<void(Values& results)>;

// How to import an operator in a range of versions.
struct NodeOp {
  std::string_view name;
  std::string_view domain = {};  // "" is the default one
  int since = 1;                 // first version of the domain with this meaning
  int until = 0;                 // last version with this meaning; 0: still valid
  std::string_view meaning;      // one line for the reference
  Values (*import)(Node& node);  // returns the outputs; trailing ones may be missing
  const Op* op = nullptr;        // without `import`: the op whose record names the operator

  Values read(Node& node) const;
};

// All tables (one per file, and one from op records), and the row for an operator in a version, or
// nullptr.
std::span<const std::span<const NodeOp>> all_operators();
const NodeOp* find_operator(std::string_view domain, std::string_view name, std::int64_t version);

// A node during the import. Errors from its members, and from ops added meanwhile, name the node
// and its operator.
class Node {
 public:
  Node(detail::Importer& importer, const detail::Scope& scope, const detail::NodeContents& contents,
       std::int64_t version)
      : importer_(importer), scope_(scope), contents_(contents), version_(version) {}

  // Version of the operator's domain.
  std::int64_t version() const { return version_; }
  Builder& builder() const;

  // ---- inputs

  // The number of listed inputs, including omitted ones before the last.
  std::size_t input_count() const;
  bool has_input(std::size_t i) const;
  // Throws kFormat if the input is omitted.
  Value input(std::size_t i) const;
  // A default Value if the input is omitted.
  Value optional_input(std::size_t i) const;
  // All inputs. Throws kFormat if one is omitted, or if there are fewer than `least`.
  Values inputs(std::size_t least = 1) const;

  // The value of an input, computed during the import. Throws kUnsupported if it depends on a graph
  // input whose value is unknown, naming that input, or on too much arithmetic.
  Tensor known(std::size_t i) const;
  Tensor known(Value value) const;
  bool is_known(std::size_t i) const;
  bool is_known(Value value) const;
  // The same as integers, for an i32 or i64 tensor of rank 0 or 1; and as one integer, for a tensor
  // with one element. Throw kDtype or kShape otherwise.
  std::vector<std::int64_t> known_integers(std::size_t i) const;
  std::int64_t known_integer(std::size_t i) const;
  // The same as one number of any dtype, and as one bool.
  double known_real(std::size_t i) const;
  bool known_bool(std::size_t i) const;

  // ---- attributes: `otherwise` is the default; without a default, a missing attribute is an error
  // (kFormat). An attribute of another type is always an error.

  bool has(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  bool flag(std::string_view name, bool otherwise) const;
  double real(std::string_view name) const;
  double real(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  std::vector<std::int64_t> integers(std::string_view name) const;
  std::vector<double> reals(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  Tensor tensor(std::string_view name) const;
  // An attribute that names an element type ("to", "dtype").
  Dtype dtype(std::string_view name) const;
  Dtype dtype(std::string_view name, Dtype otherwise) const;
  // Integers that are an attribute in old versions of an operator and an input in new ones; nullopt
  // if neither is given.
  std::optional<std::vector<std::int64_t>> known_integers(std::string_view attribute,
                                                          std::size_t input) const;

  // ---- outputs

  std::size_t output_count() const;
  // Whether the output has a name, that is, is used.
  bool wants_output(std::size_t i) const;

  // ---- graphs

  // Inlines a graph attribute with `arguments` as its inputs, and returns its outputs. The graph
  // can use the values that the node can use. Throws kFormat if the number of arguments differs.
  Values inline_graph(std::string_view attribute, std::span<const Value> arguments) const;
  // The graph as a Function of its own, instead.
  TracedGraph trace_graph(std::string_view attribute, const GraphInputs& arguments,
                          const GraphResults& finish) const;

  // Marks the results as random.
  void is_random() const;

  // Throws an error that names the node.
  [[noreturn]] void fail(ErrorCode code, std::string_view what) const;

  const detail::NodeContents& contents() const { return contents_; }

 private:
  const detail::AttributeContents* find(std::string_view name) const;
  template <class T>
  const T& get(std::string_view name) const;

  detail::Importer& importer_;
  const detail::Scope& scope_;
  const detail::NodeContents& contents_;
  std::int64_t version_;
};

}  // namespace limpid::onnx
