// What an ONNX file says, before any of it is understood: graphs of nodes with their tensors, and
// model-local functions. Leans on core.
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
  // What is none of these is read past; asking for it is then an error.
  struct Other {};
  using Value = std::variant<Other, std::int64_t, double, std::string, std::vector<std::int64_t>,
                             std::vector<double>, std::vector<std::string>, Tensor,
                             std::shared_ptr<const GraphContents>>;

  std::string name;
  std::string reference;  // within a function: the attribute of the call whose value it takes
  Value value;
};

struct NodeContents {
  std::string name;
  std::string domain;  // "" for the default one
  std::string op;
  std::string overload;
  std::vector<std::string> inputs;   // "" for one that is left out
  std::vector<std::string> outputs;  // "" for one that nobody wants
  std::vector<AttributeContents> attributes;
};

struct Dimension {
  std::optional<std::int64_t> size;
  std::string name;  // of a dynamic one, may be ""
};

struct ValueContents {
  std::string name;
  bool is_tensor = false;
  bool is_other = false;                       // a sequence, an optional value
  std::int64_t element_type = 0;               // TensorProto.DataType
  std::optional<std::vector<Dimension>> dims;  // nothing: of any rank
};

struct GraphContents {
  std::string name;
  std::vector<NodeContents> nodes;
  std::vector<std::pair<std::string, Tensor>> initializers;
  std::vector<ValueContents> inputs;
  std::vector<ValueContents> outputs;
};

// Version of the operators by domain.
using Opsets = std::map<std::string, std::int64_t, std::less<>>;

struct FunctionContents {
  std::string name;
  std::string domain;
  std::string overload;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> attributes;      // that a call may give
  std::vector<AttributeContents> defaults;  // for those that it leaves out
  std::vector<NodeContents> nodes;
  Opsets opsets;
};

struct ModelContents {
  GraphContents graph;
  std::vector<FunctionContents> functions;
  Opsets opsets;
  std::vector<std::pair<std::string, std::string>> metadata;  // in the order of the file
};

// What a reader may take: the bytes that the file has, and some more.
class Budget {
 public:
  explicit Budget(std::uint64_t file_bytes);
  // Throws kUnsupported where what was charged is more than what there is.
  void charge(std::uint64_t bytes);
  // More bytes were found to be there.
  void grow(std::uint64_t bytes) { left_ += bytes; }

 private:
  std::uint64_t left_;
};

// Where tensors have their elements: beside the model, or, without a folder, nowhere else.
class Externals {
 public:
  Externals(std::optional<std::filesystem::path> folder, Budget& budget)
      : folder_(std::move(folder)), budget_(budget) {}

  // Bytes [offset, offset + bytes) of a file of the folder; nothing for `length` means up to its
  // end. Throws kFormat for a name that is no plain file name and for bytes that are not there, kIo
  // for a link and for what the system refuses, kUnsupported without a folder.
  Tensor read(const Type& type, const std::string& location, std::uint64_t offset,
              std::optional<std::uint64_t> length);

 private:
  std::optional<std::filesystem::path> folder_;
  Budget& budget_;
  std::map<std::string, std::uint64_t> sizes_;  // of the files that were read from
};

// The Dtype of TensorProto.DataType. Throws kUnsupported, naming it, where there is none.
Dtype dtype_of_element_type(std::int64_t element_type);

// A TensorProto: its name and elements. Throws kFormat, kUnsupported, and what Externals throw.
std::pair<std::string, Tensor> read_tensor(std::span<const std::byte> message, Budget& budget,
                                           Externals& externals);

// A ModelProto. Throws what read_tensor throws.
ModelContents read_model(std::span<const std::byte> message, Budget& budget, Externals& externals);

}  // namespace limpid::onnx::detail
