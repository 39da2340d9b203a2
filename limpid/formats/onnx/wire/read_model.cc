// ModelProto and what it holds, into detail/contents.h. Field numbers are those of onnx.proto.
#include <fmt/format.h>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/formats/onnx/wire/detail/contents.h"
#include "limpid/formats/onnx/wire/detail/wire.h"

namespace limpid::onnx::detail {
namespace {

using MessageBytes = std::span<const std::byte>;

// Graphs in attributes of nodes of graphs ...
constexpr int kMaxGraphDepth = 16;
constexpr std::size_t kMaxDomains = 64;    // each call of a function copies them
constexpr std::size_t kMaxDefaults = 256;  // the same

std::string domain_of(std::string_view text) {
  return text == "ai.onnx" ? std::string() : std::string(text);
}

class Reader {
 public:
  Reader(Budget& budget, ExternalData& external_data)
      : budget_(budget), external_data_(external_data) {}

  ModelContents model(MessageBytes message) {
    ModelContents model;
    bool has_graph = false;
    for (Wire wire(message); wire.next();) switch (wire.field()) {
        case 7:
          if (has_graph) throw Error(ErrorCode::kFormat, "it has two graphs");
          has_graph = true;
          model.graph = graph(wire.bytes());
          break;
        case 8:
          opset(wire.bytes(), model.opsets);
          break;
        case 14:
          model.metadata.push_back(entry(wire.bytes()));
          break;
        case 25:
          model.functions.push_back(function(wire.bytes()));
          break;
        default:
          break;
      }
    if (!has_graph) throw Error(ErrorCode::kFormat, "it has no graph");
    return model;
  }

 private:
  std::string text(const Wire& wire) {
    const std::string_view text = wire.text();
    budget_.charge(sizeof(std::string) + text.size());
    return std::string(text);
  }

  std::pair<std::string, std::string> entry(MessageBytes message) {
    std::pair<std::string, std::string> entry;
    budget_.charge(2 * sizeof entry);
    for (Wire wire(message); wire.next();) {
      if (wire.field() == 1) entry.first = text(wire);
      if (wire.field() == 2) entry.second = text(wire);
    }
    return entry;
  }

  void opset(MessageBytes message, Opsets& opsets) {
    budget_.charge(sizeof(Opsets::value_type));
    std::string_view domain;
    std::int64_t version = 0;
    for (Wire wire(message); wire.next();) {
      if (wire.field() == 1) domain = wire.text();
      if (wire.field() == 2) version = wire.integer();
    }
    opsets[domain_of(domain)] = version;
    if (opsets.size() > kMaxDomains)
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("operators of more than {} domains are imported", kMaxDomains));
  }

  GraphContents graph(MessageBytes message) {
    if (++depth_ > kMaxGraphDepth)
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("graphs are nested more than {} levels deep", kMaxGraphDepth));
    GraphContents graph;
    budget_.charge(sizeof graph);
    for (Wire wire(message); wire.next();) switch (wire.field()) {
        case 1:
          graph.nodes.push_back(node(wire.bytes()));
          break;
        case 2:
          graph.name = text(wire);
          break;
        case 5:
          budget_.charge(2 * sizeof(graph.initializers[0]));
          graph.initializers.push_back(read_tensor(wire.bytes(), budget_, external_data_));
          break;
        case 11:
          graph.inputs.push_back(value(wire.bytes()));
          break;
        case 12:
          graph.outputs.push_back(value(wire.bytes()));
          break;
        case 15:
          throw Error(ErrorCode::kUnsupported, "sparse initializers");
        default:
          break;
      }
    --depth_;
    return graph;
  }

  NodeContents node(MessageBytes message) {
    NodeContents node;
    budget_.charge(2 * sizeof node);
    for (Wire wire(message); wire.next();) switch (wire.field()) {
        case 1:
          node.inputs.push_back(text(wire));
          break;
        case 2:
          node.outputs.push_back(text(wire));
          break;
        case 3:
          node.name = text(wire);
          break;
        case 4:
          node.op = text(wire);
          break;
        case 5:
          node.attributes.push_back(attribute(wire.bytes()));
          break;
        case 7:
          node.domain = domain_of(wire.text());
          break;
        case 8:
          node.overload = text(wire);
          break;
        default:
          break;
      }
    return node;
  }

  // Its fields, the kind among them, may come in any order.
  AttributeContents attribute(MessageBytes message) {
    constexpr std::int64_t kFloat = 1, kInt = 2, kString = 3, kTensor = 4, kGraph = 5, kFloats = 6,
                           kInts = 7, kStrings = 8;
    AttributeContents a;
    budget_.charge(2 * sizeof a);
    std::int64_t kind = 0;
    for (Wire wire(message); wire.next();) {
      if (wire.field() == 1) a.name = text(wire);
      if (wire.field() == 20) kind = wire.integer();
      if (wire.field() == 21) a.reference = text(wire);
    }
    switch (kind) {
      case kFloat:
        a.value = 0.0;
        break;
      case kInt:
        a.value = std::int64_t{0};
        break;
      case kString:
        a.value = std::string();
        break;
      case kFloats:
        a.value = std::vector<double>();
        break;
      case kInts:
        a.value = std::vector<std::int64_t>();
        break;
      case kStrings:
        a.value = std::vector<std::string>();
        break;
      default:
        break;
    }
    for (Wire wire(message); wire.next();) switch (wire.field()) {
        case 2:
          if (kind == kFloat) a.value = static_cast<double>(wire.real());
          break;
        case 3:
          if (kind == kInt) a.value = wire.integer();
          break;
        case 4:
          if (kind == kString) a.value = text(wire);
          break;
        case 5:
          if (kind == kTensor) a.value = read_tensor(wire.bytes(), budget_, external_data_).second;
          break;
        case 6:
          if (kind == kGraph) a.value = std::make_shared<const GraphContents>(graph(wire.bytes()));
          break;
        case 7:
          if (kind == kFloats) wire.each_real<float>([&](float v) { append<double>(a, v); });
          break;
        case 8:
          if (kind == kInts) wire.each_integer([&](std::int64_t v) { append<std::int64_t>(a, v); });
          break;
        case 9:
          if (kind == kStrings) append<std::string>(a, text(wire));
          break;
        default:
          break;
      }
    return a;
  }

  template <class T, class V>
  void append(AttributeContents& a, V value) {
    budget_.charge(2 * sizeof(T));
    std::get<std::vector<T>>(a.value).push_back(static_cast<T>(std::move(value)));
  }

  ValueContents value(MessageBytes message) {
    ValueContents value;
    budget_.charge(2 * sizeof value);
    for (Wire wire(message); wire.next();) {
      if (wire.field() == 1) value.name = text(wire);
      if (wire.field() == 2)
        for (Wire type(wire.bytes()); type.next();) {
          // Beside the kinds of values a type has its meaning for people, 6.
          if (type.field() == 1) tensor_type(type.bytes(), value);
          value.is_other = value.is_other || (type.field() != 1 && type.field() != 6);
        }
    }
    return value;
  }

  void tensor_type(MessageBytes message, ValueContents& value) {
    value.is_tensor = true;
    for (Wire wire(message); wire.next();) {
      if (wire.field() == 1) value.element_type = wire.integer();
      if (wire.field() == 2) value.dims = shape(wire.bytes());
    }
  }

  std::vector<Dimension> shape(MessageBytes message) {
    std::vector<Dimension> dims;
    for (Wire wire(message); wire.next();) {
      if (wire.field() != 1) continue;
      budget_.charge(2 * sizeof(Dimension));
      Dimension& dim = dims.emplace_back();
      for (Wire part(wire.bytes()); part.next();) {
        if (part.field() == 1) dim.size = part.integer();
        if (part.field() == 2) dim.name = text(part);
      }
    }
    return dims;
  }

  FunctionContents function(MessageBytes message) {
    FunctionContents f;
    budget_.charge(2 * sizeof f);
    for (Wire wire(message); wire.next();) switch (wire.field()) {
        case 1:
          f.name = text(wire);
          break;
        case 4:
          f.inputs.push_back(text(wire));
          break;
        case 5:
          f.outputs.push_back(text(wire));
          break;
        case 6:
          f.attributes.push_back(text(wire));
          break;
        case 7:
          f.nodes.push_back(node(wire.bytes()));
          break;
        case 9:
          opset(wire.bytes(), f.opsets);
          break;
        case 10:
          f.domain = domain_of(wire.text());
          break;
        case 11:
          if (f.defaults.size() == kMaxDefaults)
            throw Error(
                ErrorCode::kUnsupported,
                fmt::format("a function with more than {} default attributes", kMaxDefaults));
          f.defaults.push_back(attribute(wire.bytes()));
          break;
        case 13:
          f.overload = text(wire);
          break;
        default:
          break;
      }
    return f;
  }

  Budget& budget_;
  ExternalData& external_data_;
  int depth_ = 0;
};

}  // namespace

Opsets opsets_of(const ModelContents& model, const FunctionContents& function) {
  Opsets opsets = model.opsets;
  for (const auto& [domain, version] : function.opsets) opsets[domain] = version;
  return opsets;
}

ModelContents read_model(MessageBytes message, Budget& budget, ExternalData& external_data) {
  return Reader(budget, external_data).model(message);
}

}  // namespace limpid::onnx::detail
