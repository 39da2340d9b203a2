// The graph of an ONNX model while it is written: nodes, their values under names that nobody else
// has, and constants. Leans on message.h and any_batch.h.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "limpid/formats/onnx/detail/any_batch.h"
#include "limpid/formats/onnx/detail/message.h"

namespace limpid::onnx::detail {

// Attribute of a node that is written.
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
  // Takes the name, or the name with a number behind it where it is taken.
  std::string take_name(const std::string& name);

  // Nodes from now on are named after it.
  void set_scope(const std::string& scope) { scope_ = scope; }
  // Where N is to be had: dimension 0 of this value.
  void set_source_of_n(const std::string& value) { source_of_n_ = value; }

  // Writes a node and gives the names of its outputs; "" stands for an input that is left out.
  Names nodes(std::string_view op, const Names& inputs, const std::vector<Written>& attributes,
              std::size_t outputs);
  std::string node(std::string_view op, const Names& inputs,
                   const std::vector<Written>& attributes = {}) {
    return nodes(op, inputs, attributes, 1).front();
  }

  std::string constant(const Tensor& tensor);
  // One number of that dtype.
  std::string constant(double number, Dtype dtype);
  // i64 [numbers], computed where they depend on N.
  std::string integers(const Numbers& numbers);
  std::string integers(const std::vector<std::int64_t>& numbers);
  // One integer of a dtype, of shape [].
  std::string integer(Number number, Dtype dtype);

  // Gives the output of a node another name, which must be free; false where `name` is none.
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
  std::map<std::string, int> counts_;  // numbers used behind a name
  // Constants and numbers by what they are: the same is written once.
  std::map<std::pair<std::string, std::string>, std::string> constants_;
  std::map<std::vector<std::pair<std::int64_t, std::int64_t>>, std::string> integers_;
};

}  // namespace limpid::onnx::detail
