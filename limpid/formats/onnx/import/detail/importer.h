// Imports the contents of a model: scopes of names, functions, and limits on their size. Depends on
// node.h.
#pragma once

#include <fmt/format.h>

#include <deque>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/formats/onnx/import/detail/known_values.h"
#include "limpid/formats/onnx/import/detail/node.h"
#include "limpid/formats/onnx/onnx.h"
#include "limpid/formats/onnx/wire/detail/contents.h"

namespace limpid::onnx::detail {

using AttributeMap = std::map<std::string, const AttributeContents*, std::less<>>;

// The names visible to the nodes of a graph or function body.
class Scope {
 public:
  // The scope of the model's graph, or of a function body with the attributes of the call.
  Scope(const Opsets& opsets, const AttributeMap& attributes)
      : opsets_(opsets), attributes_(attributes) {}
  // The scope of a graph attribute; it also sees the outer names.
  explicit Scope(const Scope* outer)
      : outer_(outer), opsets_(outer->opsets_), attributes_(outer->attributes_) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // Throws kFormat if the name is taken.
  void set(const std::string& name, Value value);
  // A default Value if there is none.
  Value find(const std::string& name) const;
  // Whether this is an input of a function that the call omitted.
  bool may_be_left_out(const std::string& name) const;
  void leave_out(const std::string& name) { left_out_.insert(name); }

  const Opsets& opsets() const { return opsets_; }
  const AttributeMap& attributes() const { return attributes_; }

 private:
  const Scope* outer_ = nullptr;
  const Opsets& opsets_;
  const AttributeMap& attributes_;
  std::unordered_map<std::string, Value> values_;
  std::set<std::string, std::less<>> left_out_;
};

class Importer {
 public:
  Importer(const ModelContents& model, const ImportOptions& options);

  Imported run();

  // ---- for Node

  // Of the Function that is being built: that of the model, or of a graph inside it.
  Builder& builder() { return *frames_.back().builder; }
  // Those of the Function that a value belongs to.
  KnownValues& known(const Value& value) { return frame_of(value).known; }
  std::string input_name(const Value& value, ValueId id);
  // A value of a Function around as a constant, if it is known; else itself.
  Value here(const Value& value);
  void is_random() { random_ = true; }
  Values graph(const GraphContents& graph, const Scope& outer, std::span<const Value> arguments);
  TracedGraph trace(const GraphContents& graph, const Scope& outer, const GraphInputs& arguments,
                    const GraphResults& finish);

 private:
  using FunctionKey = std::tuple<std::string, std::string, std::string>;  // domain, name, overload

  struct Frame {
    Builder* builder;
    KnownValues known;
  };
  Frame& frame_of(const Value& value);

  const FunctionContents* find_function(const NodeContents& node) const;
  void add_inputs(Scope& scope);
  void add_input(Scope& scope, const std::string& name, const Type& type, const Tensor* value);
  void nodes(const std::vector<NodeContents>& nodes, Scope& scope);
  void node(const NodeContents& node, Scope& scope);
  Values call_function(const FunctionContents& function, const NodeContents& node,
                       const Scope& scope);
  Values outputs(const std::vector<std::string>& names, const Scope& scope) const;
  void count_node();

  const ModelContents& model_;
  const ImportOptions& options_;
  Builder builder_;
  std::deque<Frame> frames_;  // from the outermost Function to the innermost
  std::map<FunctionKey, const FunctionContents*> functions_;
  std::set<const FunctionContents*> active_;
  std::vector<std::string> input_names_;  // of the function
  Params params_;
  std::int64_t nodes_ = 0;
  int depth_ = 0;
  bool random_ = false;
};

// Calls f. Its errors get the path of the model; kIo has the path of the file that was read.
template <class F>
auto naming(const std::filesystem::path& path, const F& f) {
  try {
    return f();
  } catch (const Error& e) {
    if (e.code() == ErrorCode::kIo) throw;
    throw Error(e.code(), fmt::format("onnx {}: {}", in_quotes(path.string()), e.what()));
  }
}

// The contents of a file with its external data; errors name the file. The bytes of the file are
// freed.
ModelContents load_contents(const std::filesystem::path& path);

// The operators without a table row of the nodes of the graph and of functions that it calls, all
// of them with their nodes: "Sin ('a', 'b'), own.Op ('c')". Empty if there are none. Without
// `in_branches`, it is empty, too, where only graphs of If, Loop and the like have such nodes.
std::string missing_operators(const ModelContents& model, bool in_branches);

// Throws kUnsupported with those names if there are any.
void check_operators(const ModelContents& model, bool in_branches = false);

// The opset version of a domain. Throws kFormat if it is missing, kUnsupported if it is above
// kNewestOpset.
std::int64_t version_of(const Opsets& opsets, std::string_view domain);

// The inputs of a graph that have no initializer, in order.
std::vector<const ValueContents*> data_inputs(const GraphContents& graph);

// "batch" of [batch, length], or "x.0" of a dimension without a name.
std::string dimension_name(const ValueContents& input, std::size_t axis);

// Throws kInvalidArgument for a size of a dimension that no input has, or that is not dynamic.
void check_dimensions(std::span<const ValueContents* const> inputs,
                      const std::map<std::string, std::int64_t>& sizes);

// The type of an input, with sizes for dynamic dimensions; adds unknown dimensions to `missing`.
Type input_type(const ValueContents& input, const ImportOptions& options,
                std::vector<std::string>& missing);

}  // namespace limpid::onnx::detail
