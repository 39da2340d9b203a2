// What is written for an operator: a row of a table that says how a node becomes ops, and the node
// as that code sees it. Leans on function and ops.
//
// A row's code takes the inputs and attributes of the node and returns its outputs:
//
//   Values import_elu(Node& node) { return {elu(node.input(0), node.real("alpha", 1))}; }
//   constexpr NodeOp kActivations[] = {{.name = "Elu", .meaning = "...", .import = import_elu}};
//
// Whatever a node must know while it is imported (a shape, an axis, a condition) comes from
// known(): values that depend on constants, shapes and values given for the import alone.
#pragma once

#include <cstddef>
#include <cstdint>
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

// How an operator of a range of versions is read.
struct NodeOp {
  std::string_view name;
  std::string_view domain = {};  // "" is the default one
  int since = 1;                 // version of the domain that brought this meaning,
  int until = 0;                 // and the last that has it; 0 where it still holds
  std::string_view meaning;      // one line for the reference
  Values (*import)(Node& node);  // returns its outputs; those after the last may be missing
  const Op* op = nullptr;        // without an `import`: the op whose record names the operator

  Values read(Node& node) const;
};

// The tables, one a file and one of records, and the row for an operator in a version; nullptr
// where there is none.
std::span<const std::span<const NodeOp>> all_operators();
const NodeOp* find_operator(std::string_view domain, std::string_view name, std::int64_t version);

// A node at its import. Errors thrown by its members, and by ops that are written meanwhile, name
// the node and its operator.
class Node {
 public:
  Node(detail::Importer& importer, const detail::Scope& scope, const detail::NodeContents& contents,
       std::int64_t version)
      : importer_(importer), scope_(scope), contents_(contents), version_(version) {}

  // Version of the operator's domain.
  std::int64_t version() const { return version_; }
  Builder& builder() const;

  // ---- inputs

  // Those that the node lists, left out ones before the last among them.
  std::size_t input_count() const;
  bool has_input(std::size_t i) const;
  // Throws kFormat where it is left out.
  Value input(std::size_t i) const;
  // A default Value where it is left out.
  Value optional_input(std::size_t i) const;
  // All of them. Throws kFormat where one is left out or there are fewer than `least`.
  Values inputs(std::size_t least = 1) const;

  // The value of an input, had while importing. Throws kUnsupported where it depends on an input of
  // the graph whose value is not known, naming that, or on more than a little arithmetic.
  Tensor known(std::size_t i) const;
  Tensor known(Value value) const;
  bool is_known(std::size_t i) const;
  // The same of a tensor of i32 or i64 (rank 0 or 1) as numbers, and of one number, whatever its
  // rank. Throw kDtype or kShape for others.
  std::vector<std::int64_t> known_integers(std::size_t i) const;
  std::int64_t known_integer(std::size_t i) const;
  // One number of any dtype, and one bool.
  double known_real(std::size_t i) const;
  bool known_bool(std::size_t i) const;

  // ---- attributes: a default is for where it is missing; without one that is an error (kFormat),
  // and another kind of attribute always

  bool has(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  bool flag(std::string_view name, bool otherwise) const;
  double real(std::string_view name) const;
  double real(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  std::vector<std::int64_t> integers(std::string_view name) const;
  std::vector<double> reals(std::string_view name) const;
  Tensor tensor(std::string_view name) const;
  // An attribute that names an element type ("to", "dtype").
  Dtype dtype(std::string_view name) const;
  Dtype dtype(std::string_view name, Dtype otherwise) const;
  // What an operator takes as an attribute in old versions and as an input in new ones; nothing
  // where it is neither.
  std::optional<std::vector<std::int64_t>> known_integers(std::string_view attribute,
                                                          std::size_t input) const;

  // ---- outputs

  std::size_t output_count() const;
  // Whether it has a name.
  bool wants_output(std::size_t i) const;

  // ---- graphs

  // The outputs of a graph in an attribute, its inputs being `arguments`; it sees the values that
  // the node sees. Throws kFormat where counts differ.
  Values inline_graph(std::string_view attribute, std::span<const Value> arguments) const;

  // Says that results are drawn at random.
  void is_random() const;

  // Throws, naming the node.
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
