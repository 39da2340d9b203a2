// Which operators of a model are missing: all of them at once, before anything is imported.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <tuple>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/formats/onnx/import/detail/importer.h"

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

  void model() {
    nodes(model_.graph.nodes, model_.opsets, true);
    // One after the other: a chain of functions may be as long as the file.
    while (!pending_.empty()) {
      const auto [f, always] = pending_.back();
      pending_.pop_back();
      nodes(f->nodes, opsets_of(model_, *f), always);
    }
  }

  // Nothing if only branches have missing operators, which may not be taken, and they do not count.
  std::string missing(bool in_branches) const {
    if (!certain_ && !in_branches) return {};
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
    return fmt::format("{}", fmt::join(operators, ", "));
  }

 private:
  void nodes(const std::vector<NodeContents>& nodes, const Opsets& opsets, bool always) {
    for (const NodeContents& n : nodes) node(n, opsets, always);
  }

  void node(const NodeContents& node, const Opsets& opsets, bool always) {
    const auto called = functions_.find({node.domain, node.op, node.overload});
    if (called != functions_.end()) {
      const std::pair call{called->second, always};
      if (visited_.insert(call).second) pending_.push_back(call);
      return;
    }
    // Its subgraphs may belong to a branch that is not taken.
    for (const AttributeContents& a : node.attributes)
      if (const auto* inner = std::get_if<std::shared_ptr<const GraphContents>>(&a.value))
        nodes((*inner)->nodes, opsets, false);
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

  const ModelContents& model_;
  std::map<Key, const FunctionContents*> functions_;  // there may be very many
  std::set<std::pair<const FunctionContents*, bool>> visited_;
  std::vector<std::pair<const FunctionContents*, bool>>
      pending_;  // of visited_: their nodes are yet to be looked at
  std::map<std::string, std::vector<std::string>> missing_;
  bool certain_ = false;
};

}  // namespace

std::string missing_operators(const ModelContents& model, bool in_branches) {
  Walk walk(model);
  walk.model();
  return walk.missing(in_branches);
}

void check_operators(const ModelContents& model, bool in_branches) {
  const std::string missing = missing_operators(model, in_branches);
  if (!missing.empty())
    throw Error(ErrorCode::kUnsupported,
                fmt::format("operators that Limpid does not have: {}", missing));
}

}  // namespace limpid::onnx::detail
