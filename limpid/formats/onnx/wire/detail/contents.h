// The parsed contents of an ONNX file, before the import: graphs of nodes, tensors, and model-local
// functions. Depends on core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "limpid/core/tensor.h"

namespace limpid::onnx::detail {

struct GraphContents;

struct AttributeContents {
  // An attribute of another type: it is skipped; reading its value is an error.
  struct Other {};
  using Value = std::variant<Other, std::int64_t, double, std::string, std::vector<std::int64_t>,
                             std::vector<double>, std::vector<std::string>, Tensor,
                             std::shared_ptr<const GraphContents>>;

  std::string name;
  std::string reference;  // in a function body: the call's attribute that gives its value
  Value value;
};

struct NodeContents {
  std::string name;
  std::string domain;  // "" for the default one
  std::string op;
  std::string overload;
  std::vector<std::string> inputs;   // "" if omitted
  std::vector<std::string> outputs;  // "" if unused
  std::vector<AttributeContents> attributes;
};

struct Dimension {
  std::optional<std::int64_t> size;
  std::string name;  // of a dynamic dimension; may be ""
};

struct ValueContents {
  std::string name;
  bool is_tensor = false;
  bool is_other = false;                       // a sequence, an optional value
  std::int64_t element_type = 0;               // TensorProto.DataType
  std::optional<std::vector<Dimension>> dims;  // nullopt: of any rank
};

struct GraphContents {
  std::string name;
  std::vector<NodeContents> nodes;
  std::vector<std::pair<std::string, Tensor>> initializers;
  std::vector<ValueContents> inputs;
  std::vector<ValueContents> outputs;
};

// Opset version by domain.
using Opsets = std::map<std::string, std::int64_t, std::less<>>;

struct FunctionContents {
  std::string name;
  std::string domain;
  std::string overload;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> attributes;      // attributes of a call
  std::vector<AttributeContents> defaults;  // default attributes
  std::vector<NodeContents> nodes;
  Opsets opsets;
};

struct ModelContents {
  GraphContents graph;
  std::vector<FunctionContents> functions;
  Opsets opsets;
  std::vector<std::pair<std::string, std::string>> metadata;  // in the order of the file
};

// The opset versions for the nodes of a function: its own, and the model's for other domains.
Opsets opsets_of(const ModelContents& model, const FunctionContents& function);

// The memory budget of a reader: the size of the file, and some more.
class Budget {
 public:
  explicit Budget(std::uint64_t file_bytes);
  // Throws kUnsupported if the budget is exceeded.
  void charge(std::uint64_t bytes);
  // Adds bytes that were found in other files.
  void grow(std::uint64_t bytes) { left_ += bytes; }

 private:
  std::uint64_t left_;
};

// External data in the folder of the model; none without a folder.
class ExternalData {
 public:
  ExternalData(std::optional<std::filesystem::path> folder, Budget& budget)
      : folder_(std::move(folder)), budget_(budget) {}

  // Bytes [offset, offset + bytes) of a file of the folder; a `length` of nullopt means up to its
  // end. Throws kFormat for a name that is not a plain file name and for bytes beyond the end, kIo
  // for a link and for system errors, kUnsupported without a folder.
  Tensor read(const Type& type, const std::string& location, std::uint64_t offset,
              std::optional<std::uint64_t> length);

 private:
  std::optional<std::filesystem::path> folder_;
  Budget& budget_;
  std::map<std::string, std::uint64_t> sizes_;  // of the files that were read
};

// The Dtype of a TensorProto.DataType. Throws kUnsupported, naming it, if there is none.
Dtype dtype_of_element_type(std::int64_t element_type);

// Reads a TensorProto: its name and elements. Throws kFormat, kUnsupported, and what ExternalData
// throws.
std::pair<std::string, Tensor> read_tensor(std::span<const std::byte> message, Budget& budget,
                                           ExternalData& external_data);

// Reads a ModelProto. Throws what read_tensor throws.
ModelContents read_model(std::span<const std::byte> message, Budget& budget,
                         ExternalData& external_data);

}  // namespace limpid::onnx::detail
