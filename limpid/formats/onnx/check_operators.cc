// Which operators of a model are missing: all of them at once, before anything is imported.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <tuple>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/formats/onnx/detail/importer.h"

namespace limpid::onnx::detail {
namespace {

constexpr std::size_t kMostNames = 1000;  // in a message

class Walk {
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;

 public:
  explicit Walk(const ModelContents& model) : model_(model) {
    for (const FunctionContents& f : model.functions)
      functions_.emplace(Key{f.domain, f.name, f.overload}, &f);
  }

  void graph(const GraphContents& graph, const Opsets& opsets, bool always) {
    nodes(graph.nodes, opsets, always);
  }

  void check() const {
    if (!certain_) return;
    std::size_t left = kMostNames;
    std::vector<std::string> operators;
    for (const auto& [name, nodes] : missing_) {
      const std::size_t shown = std::min(nodes.size(), left);
      left -= shown;
      operators.push_back(fmt::format(
          "{} ({}{})", name,
          fmt::join(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
          shown == nodes.size() ? "" : fmt::format(" and {} more", nodes.size() - shown)));
    }
    throw Error(ErrorCode::kUnsupported,
                fmt::format("operators that Limpid does not have: {}", fmt::join(operators, ", ")));
  }

 private:
  void nodes(const std::vector<NodeContents>& nodes, const Opsets& opsets, bool always) {
    for (const NodeContents& n : nodes) node(n, opsets, always);
  }

  void node(const NodeContents& node, const Opsets& opsets, bool always) {
    const auto called = functions_.find({node.domain, node.op, node.overload});
    if (called != functions_.end()) return function(*called->second, always);
    // Its subgraphs may belong to a branch that is not taken.
    for (const AttributeContents& a : node.attributes)
      if (const auto* inner = std::get_if<std::shared_ptr<const GraphContents>>(&a.value))
        graph(**inner, opsets, false);
    const auto version = opsets.find(node.domain);
    if (version != opsets.end() && find_operator(node.domain, node.op, version->second)) return;
    const std::string op = node.domain.empty() ? node.op : node.domain + "." + node.op;
    const bool readable =
        op.size() <= 96 && op.find_first_not_of(
                               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX"
                               "YZ0123456789._-") == std::string::npos;
    missing_[readable ? op : in_quotes(op)].push_back(
        in_quotes(node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name));
    certain_ = certain_ || always;
  }

  void function(const FunctionContents& f, bool always) {
    if (!visited_.insert({&f, always}).second) return;
    Opsets opsets = model_.opsets;
    for (const auto& [domain, version] : f.opsets) opsets[domain] = version;
    nodes(f.nodes, opsets, always);
  }

  const ModelContents& model_;
  std::map<Key, const FunctionContents*> functions_;  // there may be very many
  std::set<std::pair<const FunctionContents*, bool>> visited_;
  std::map<std::string, std::vector<std::string>> missing_;
  bool certain_ = false;
};

}  // namespace

void check_operators(const ModelContents& model) {
  Walk walk(model);
  walk.graph(model.graph, model.opsets, true);
  walk.check();
}

}  // namespace limpid::onnx::detail
