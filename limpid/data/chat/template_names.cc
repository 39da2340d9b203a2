// Resolves the names of a chat template before it runs.
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "limpid/data/chat/detail/template_tree.h"

namespace limpid::detail {
namespace {

using NodeKind = TemplateNode::Kind;
using Load = TemplateLoad::Kind;

// The names of a frame: those assigned somewhere in it, and those read in it that no outer frame
// has.
class FrameNames {
 public:
  explicit FrameNames(const FrameNames* parent = nullptr) : parent_(parent) {}

  std::optional<TemplateRef> find(const std::string& name) const {
    TemplateRef ref;
    for (const FrameNames* frame = this; frame; frame = frame->parent_, ++ref.up)
      if (const auto found = frame->slots_.find(name); found != frame->slots_.end()) {
        ref.slot = found->second;
        return ref;
      }
    return std::nullopt;
  }

  void read(const std::string& name) {
    if (!find(name)) define(name, {Load::kVariable, name});
  }

  void set(const std::string& name) {
    if (stored_.insert(name).second) order_.push_back(name);
    if (slots_.contains(name)) return;
    const std::optional<TemplateRef> outer = find(name);
    define(name, outer ? TemplateLoad{Load::kOuter, name, *outer} : TemplateLoad{});
  }

  std::size_t parameter(const std::string& name) {
    if (stored_.insert(name).second) order_.push_back(name);
    if (!slots_.contains(name)) define(name, {Load::kParameter, name});
    return slots_.at(name);
  }

  // From here on, assignments are in a branch that may not run; the name then keeps its outer
  // value.
  std::size_t begin_branches() const { return order_.size(); }
  void end_branches(std::size_t begin) {
    for (std::size_t i = begin; i < order_.size(); ++i) {
      const std::string& name = order_[i];
      std::optional<TemplateRef> outer;
      if (parent_) outer = parent_->find(name);
      if (outer) ++outer->up;
      scope_[slots_.at(name)] =
          outer ? TemplateLoad{Load::kOuter, name, *outer} : TemplateLoad{Load::kVariable, name};
    }
  }

  TemplateScope take_scope() { return std::move(scope_); }

 private:
  void define(const std::string& name, TemplateLoad load) {
    slots_.emplace(name, scope_.size());
    scope_.push_back(std::move(load));
  }

  const FrameNames* parent_;
  std::unordered_map<std::string, std::size_t> slots_;
  TemplateScope scope_;
  std::unordered_set<std::string> stored_;
  std::vector<std::string> order_;  // in which they were stored
};

// The names that a node reads and sets in its own frame, in the order in which it does.
void collect(const TemplateNode& node, FrameNames& names) {
  switch (node.kind) {
    case NodeKind::kName:
      return names.read(node.text);
    case NodeKind::kFor:
      return collect(*node.children[0], names);
    case NodeKind::kMacro:
      return names.set(node.text);
    case NodeKind::kIf: {
      collect(*node.children[0], names);
      const std::size_t branches = names.begin_branches();
      for (std::size_t i = 1; i < node.children.size(); ++i) collect(*node.children[i], names);
      return names.end_branches(branches);
    }
    default:
      for (const auto& child : node.children) collect(*child, names);
      if (node.kind == NodeKind::kSet) names.set(node.text);
      if (node.kind == NodeKind::kSetMember) names.read(node.names[0]);
  }
}

void bind(TemplateNode& node, const FrameNames& names);

void bind_loop(TemplateNode& node, const FrameNames& names) {
  bind(*node.children[0], names);
  FrameNames turn(&names);
  for (const std::string& name : node.names) node.slots.push_back(turn.parameter(name));
  node.slots.push_back(turn.parameter("loop"));
  collect(*node.children[1], turn);
  bind(*node.children[1], turn);
  node.scope = turn.take_scope();
  if (node.children.size() < 3) return;
  FrameNames condition(&names);
  for (const std::string& name : node.names) condition.parameter(name);
  collect(*node.children[2], condition);
  bind(*node.children[2], condition);
  node.test_scope = condition.take_scope();
}

void bind_macro(TemplateNode& node, const FrameNames& names) {
  node.ref = *names.find(node.text);
  FrameNames call(&names);
  for (const std::string& name : node.names) node.slots.push_back(call.parameter(name));
  for (std::size_t i = 1; i < node.children.size(); ++i) collect(*node.children[i], call);
  collect(*node.children[0], call);
  for (const auto& child : node.children) bind(*child, call);
  node.scope = call.take_scope();
}

void bind(TemplateNode& node, const FrameNames& names) {
  switch (node.kind) {
    case NodeKind::kFor:
      return bind_loop(node, names);
    case NodeKind::kMacro:
      return bind_macro(node, names);
    case NodeKind::kName:
    case NodeKind::kSet:
      node.ref = *names.find(node.text);
      break;
    case NodeKind::kSetMember:
      node.ref = *names.find(node.names[0]);
      break;
    default:
      break;
  }
  for (const auto& child : node.children) bind(*child, names);
}

}  // namespace

void bind_names(TemplateNode& root) {
  FrameNames names;
  collect(root, names);
  bind(root, names);
  root.scope = names.take_scope();
}

}  // namespace limpid::detail
