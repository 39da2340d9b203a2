// Exports a Function for any batch: compares its forms at three batch sizes and fits each integer
// as a multiple of the batch.
#include "limpid/formats/onnx/export/detail/any_batch.h"

#include <fmt/format.h>

#include <optional>
#include <variant>

#include "limpid/core/error.h"
#include "limpid/transforms/expand.h"
#include "limpid/transforms/vmap.h"

namespace limpid::onnx::detail {
namespace {

using List = std::vector<std::int64_t>;

[[noreturn]] void refuse(std::string_view what) {
  throw Error(ErrorCode::kUnsupported,
              fmt::format("onnx: {} is not of the form a + b N for a batch size N, so the model "
                          "cannot have any batch size; write it with a fixed one",
                          what));
}

// Nothing where an integer of attributes is read, else whether they say the same.
bool alike(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  if (const List* list = std::get_if<List>(&a)) return list->size() == std::get<List>(b).size();
  if (std::holds_alternative<std::int64_t>(a)) return true;
  return Attributes{{"a", a}} == Attributes{{"a", b}};
}

bool alike(const Node& a, const Node& b) {
  if (a.op != b.op || a.inputs != b.inputs || a.first_output != b.first_output ||
      a.attributes.size() != b.attributes.size())
    return false;
  for (auto x = a.attributes.begin(), y = b.attributes.begin(); x != a.attributes.end(); ++x, ++y)
    if (!alike(x->second, y->second)) return false;
  return true;
}

std::string place_of(const Node& node) {
  return node.scope.empty() ? std::string(node.op->name)
                            : fmt::format("{} '{}'", node.op->name, node.scope);
}

}  // namespace

Number operator*(Number a, std::int64_t b) { return {a.constant * b, a.factor * b}; }
Number operator+(Number a, Number b) { return {a.constant + b.constant, a.factor + b.factor}; }

Number product(const Numbers& numbers) {
  Number all{1, 0};
  for (const Number& n : numbers) {
    if (n.factor != 0 && all.factor != 0) refuse("a count");
    all = n.factor == 0 ? all * n.constant : n * all.constant;
  }
  return all;
}

AnyBatch::AnyBatch(const Function& function) { at_.fill(function); }

AnyBatch::AnyBatch(const Function& of_one, const std::vector<bool>& batched) {
  std::vector<std::optional<std::int64_t>> axes;
  for (const bool in : batched) axes.push_back(in ? std::optional<std::int64_t>(0) : std::nullopt);
  for (std::size_t i = 0; i < kSizes.size(); ++i) at_[i] = vmap(of_one, axes, kSizes[i]);
}

void AnyBatch::expand(const std::function<bool(const Call&)>& wanted) {
  for (Function& f : at_) f = limpid::expand(f, wanted);
}

void AnyBatch::check() const {
  const Function& first = at_[0];
  for (const Function& other : at_) {
    if (other.nodes().size() != first.nodes().size() || !(other.outputs() == first.outputs()))
      refuse("the function");
    for (std::size_t i = 0; i < first.nodes().size(); ++i)
      if (!alike(first.nodes()[i], other.nodes()[i])) refuse(place_of(first.nodes()[i]));
  }
}

template <class Read>
Number AnyBatch::fit(const Read& read) const {
  const std::int64_t a = read(at_[0]), b = read(at_[1]), c = read(at_[2]);
  const std::int64_t factor = (b - a) / (kSizes[1] - kSizes[0]);
  const Number number{a - factor * kSizes[0], factor};
  if (b != number.constant + factor * kSizes[1] || c != number.constant + factor * kSizes[2])
    refuse("a number");
  return number;
}

Numbers AnyBatch::shape(ValueId id) const {
  Numbers dims;
  for (std::size_t d = 0; d < function().type(id).shape.rank(); ++d)
    dims.push_back(fit([&](const Function& f) { return f.type(id).shape[d]; }));
  return dims;
}

Number AnyBatch::integer(std::size_t node, std::string_view name) const {
  return fit([&](const Function& f) { return f.nodes()[node].attributes.integer(name); });
}

Numbers AnyBatch::integers(std::size_t node, std::string_view name) const {
  Numbers all;
  const auto list = [&](const Function& f) -> const List& {
    return f.nodes()[node].attributes.get<List>(name);
  };
  for (std::size_t i = 0; i < list(function()).size(); ++i)
    all.push_back(fit([&](const Function& f) { return list(f)[i]; }));
  return all;
}

}  // namespace limpid::onnx::detail
