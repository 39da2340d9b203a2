// Builds the graph of an ONNX model: nodes, unique names of values, and constants. Depends on
// message.h and any_batch.h.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "limpid/formats/onnx/export/detail/any_batch.h"
#include "limpid/formats/onnx/wire/detail/message.h"

namespace limpid::onnx::detail {

// An attribute to write.
struct Written {
  std::string_view name;
  std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, Tensor> value;
};

using Names = std::vector<std::string>;

// TensorProto.DataType
std::int64_t element_type(Dtype dtype);
// A TensorProto.
Message tensor_message(const std::string& name, const Tensor& tensor);
// A ValueInfoProto; dimensions that depend on N are dynamic, and N itself is called `batch`.
Message value_message(const std::string& name, Dtype dtype, const Numbers& shape,
                      const std::string& batch);

class GraphWriter {
 public:
  // Reserves the name, or the name with a number as suffix if it is taken.
  std::string take_name(const std::string& name);

  // Names the following nodes after this scope.
  void set_scope(const std::string& scope) { scope_ = scope; }
  // Sets the source of N at run time: dimension 0 of this value.
  void set_source_of_n(const std::string& value) { source_of_n_ = value; }

  // Adds a node and returns the names of its outputs; an input "" is omitted.
  Names nodes(std::string_view op, const Names& inputs, const std::vector<Written>& attributes,
              std::size_t outputs);
  std::string node(std::string_view op, const Names& inputs,
                   const std::vector<Written>& attributes = {}) {
    return nodes(op, inputs, attributes, 1).front();
  }

  std::string constant(const Tensor& tensor);
  // A scalar of this dtype.
  std::string constant(double number, Dtype dtype);
  // i64 [numbers], computed at run time if they depend on N.
  std::string integers(const Numbers& numbers);
  std::string integers(const std::vector<std::int64_t>& numbers);
  // An integer of this dtype, of shape [].
  std::string integer(Number number, Dtype dtype);

  // Renames the output of a node; the new name must be free. False if `name` is not an output.
  bool rename(const std::string& name, const std::string& to);

  // Appends the nodes to a GraphProto.
  void write_to(Message& graph) const;

 private:
  struct NodeRecord {
    std::string name;
    std::string op;
    Names inputs;
    Names outputs;
    std::vector<Written> attributes;
  };

  std::string scope_;
  std::string source_of_n_;
  std::vector<NodeRecord> nodes_;
  std::set<std::string> names_;
  std::map<std::string, int> counts_;  // suffixes used for a name
  // Constants and integers by value: equal ones are written once.
  std::map<std::pair<std::string, std::string>, std::string> constants_;
  std::map<std::vector<std::pair<std::int64_t, std::int64_t>>, std::string> integers_;
};

}  // namespace limpid::onnx::detail
