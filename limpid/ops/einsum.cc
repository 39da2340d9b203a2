#include "limpid/ops/einsum.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "limpid/core/error.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/matmul.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/shape.h"

namespace limpid {
namespace {

// Names of dimensions: letters, and negative numbers for those of an ellipsis, -1 the last one.
using EinsumLabels = std::vector<int>;

bool has_label(const EinsumLabels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

std::size_t place_of(const EinsumLabels& labels, int label) {
  return static_cast<std::size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
}

// A value with a name for each of its dimensions.
struct LabelledValue {
  Value value;
  EinsumLabels labels;

  std::int64_t size(int label) const { return value.shape()[place_of(labels, label)]; }
};

// The value with its dimensions in another order.
LabelledValue in_order(const LabelledValue& x, const EinsumLabels& order) {
  if (order == x.labels) return x;
  std::vector<std::int64_t> permutation;
  for (const int label : order)
    permutation.push_back(static_cast<std::int64_t>(place_of(x.labels, label)));
  return {transpose(x.value, permutation), order};
}

// If a name occurs twice, takes the diagonal of its two dimensions.
LabelledValue diagonal_of_repeats(LabelledValue x) {
  for (std::size_t first = 0; first < x.labels.size(); ++first)
    for (std::size_t second = x.labels.size() - 1; second > first; --second) {
      if (x.labels[first] != x.labels[second]) continue;
      const std::int64_t n = x.value.shape()[first];
      if (x.value.shape()[second] != n)
        throw Error(ErrorCode::kShape,
                    fmt::format("einsum: dimensions {} and {} of {} share a name but differ in "
                                "size",
                                first, second, to_string(x.value.type())));
      std::vector<std::int64_t> permutation{static_cast<std::int64_t>(first),
                                            static_cast<std::int64_t>(second)};
      EinsumLabels labels{x.labels[first]};
      for (std::size_t d = 0; d < x.labels.size(); ++d)
        if (d != first && d != second) {
          permutation.push_back(static_cast<std::int64_t>(d));
          labels.push_back(x.labels[d]);
        }
      const Value front = transpose(x.value, permutation);
      const Value rows = reshape(front, front.shape().erase(1).replace(0, n * n));
      const Value diagonal = iota(x.value.builder(), n) * static_cast<double>(n + 1);
      // The name is now in front, so no pair is missed.
      return diagonal_of_repeats({gather(rows, diagonal), labels});
    }
  return x;
}

LabelledValue summed_along(LabelledValue x, int label) {
  const std::size_t axis = place_of(x.labels, label);
  x.value = cast(sum(x.value, static_cast<std::int64_t>(axis)), x.value.dtype());
  x.labels.erase(x.labels.begin() + static_cast<std::ptrdiff_t>(axis));
  return x;
}

template <class Keep>
LabelledValue summed_over_others(LabelledValue x, const Keep& keep) {
  for (const int label : EinsumLabels(x.labels))
    if (!keep(label)) x = summed_along(x, label);
  return x;
}

// Gives shared names the same size in both: a dimension of 1 is broadcast.
void match_labels(LabelledValue& a, LabelledValue& b) {
  for (const int label : a.labels) {
    if (!has_label(b.labels, label)) continue;
    const std::int64_t m = a.size(label), n = b.size(label);
    if (m == n) continue;
    if (m != 1 && n != 1)
      throw Error(ErrorCode::kShape,
                  fmt::format("einsum: dimensions of sizes {} and {} share a name", m, n));
    LabelledValue& small = m == 1 ? a : b;
    const Shape shape = small.value.shape();
    small.value =
        broadcast(small.value, shape.replace(place_of(small.labels, label), m == 1 ? n : m));
  }
}

std::int64_t elements_along(const LabelledValue& x, const EinsumLabels& labels) {
  std::int64_t product = 1;
  for (const int label : labels) product *= x.size(label);
  return product;
}

EinsumLabels labels_of_both(EinsumLabels a, const EinsumLabels& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The product of two values, summed over shared names that are not needed later.
template <class Needed>
LabelledValue contracted_pair(LabelledValue a, LabelledValue b, const Needed& needed) {
  a = summed_over_others(a, [&](int l) { return needed(l) || has_label(b.labels, l); });
  b = summed_over_others(b, [&](int l) { return needed(l) || has_label(a.labels, l); });
  match_labels(a, b);
  EinsumLabels batch, inner, left, right;
  for (const int label : a.labels)
    (!has_label(b.labels, label) ? left : needed(label) ? batch : inner).push_back(label);
  for (const int label : b.labels)
    if (!has_label(a.labels, label)) right.push_back(label);
  Shape shape;
  for (const int label : labels_of_both(batch, left))
    shape = shape.insert(shape.rank(), a.size(label));
  for (const int label : right) shape = shape.insert(shape.rank(), b.size(label));
  const std::int64_t batches = elements_along(a, batch), rows = elements_along(a, left),
                     columns = elements_along(b, right), terms = elements_along(a, inner);
  const Value x = in_order(a, labels_of_both(labels_of_both(batch, left), inner)).value;
  const Value y = in_order(b, labels_of_both(labels_of_both(batch, inner), right)).value;
  const Value product = inner.empty()
                            ? reshape(x, {batches, rows, 1}) * reshape(y, {batches, 1, columns})
                            : batched_product(reshape(x, {batches, rows, terms}),
                                              reshape(y, {batches, terms, columns}));
  return {reshape(product, shape), labels_of_both(labels_of_both(batch, left), right)};
}

// ---- the equation

class Equation {
 public:
  Equation(std::string text, const std::vector<Value>& inputs) {
    std::erase(text, ' ');
    text_ = text;
    const std::size_t arrow = text.find("->");
    std::vector<std::string> terms{""};
    for (const char c : text.substr(0, arrow)) {
      if (c == ',')
        terms.emplace_back();
      else
        terms.back() += c;
    }
    if (terms.size() != inputs.size())
      fail(fmt::format("the equation has {} operands, got {}", terms.size(), inputs.size()));
    for (std::size_t i = 0; i < terms.size(); ++i)
      operands.push_back({inputs[i], labels_of(terms[i], inputs[i].rank())});
    if (arrow == std::string::npos)
      implicit_result();
    else
      explicit_result(text.substr(arrow + 2));
  }

  std::vector<LabelledValue> operands;
  EinsumLabels result;

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("einsum: '{}': {}", text_, what));
  }

  EinsumLabels labels_of(const std::string& term, std::size_t rank) {
    const std::size_t dots = term.find("...");
    const std::size_t letters = term.size() - (dots == std::string::npos ? 0 : 3);
    if (letters > rank || (dots == std::string::npos && letters != rank))
      fail(fmt::format("'{}' does not name the dimensions of a tensor of rank {}", term, rank));
    EinsumLabels labels;
    for (std::size_t i = 0; i < term.size(); ++i) {
      if (i == dots) {
        const auto hidden = static_cast<int>(rank - letters);
        for (int d = -hidden; d < 0; ++d) labels.push_back(d);
        most_hidden_ = std::max(most_hidden_, hidden);
        i += 2;
      } else {
        labels.push_back(letter(term[i]));
      }
    }
    return labels;
  }

  int letter(char c) const {
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
      fail(fmt::format("'{}' is not a letter", c));
    return c;
  }

  void add_hidden() {
    for (int d = -most_hidden_; d < 0; ++d) result.push_back(d);
  }

  // The dimensions of the ellipsis, then the letters that occur once, in alphabetical order.
  void implicit_result() {
    add_hidden();
    std::map<int, int> counts;
    for (const LabelledValue& x : operands)
      for (const int label : x.labels) ++counts[label];
    for (const auto& [label, count] : counts)
      if (label > 0 && count == 1) result.push_back(label);
  }

  void explicit_result(const std::string& term) {
    for (std::size_t i = 0; i < term.size(); ++i) {
      if (term.compare(i, 3, "...") == 0) {
        add_hidden();
        i += 2;
        continue;
      }
      const int label = letter(term[i]);
      if (has_label(result, label)) fail(fmt::format("'{}' is duplicated in the result", term[i]));
      if (std::none_of(operands.begin(), operands.end(),
                       [&](const LabelledValue& x) { return has_label(x.labels, label); }))
        fail(fmt::format("'{}' is not a dimension of an operand", term[i]));
      result.push_back(label);
    }
  }

  std::string text_;
  int most_hidden_ = 0;
};

}  // namespace

Value batched_product(Value a, Value b) {
  if (is_floating(a.dtype()) || (a.dtype() == Dtype::kI8 && b.dtype() == Dtype::kI8))
    return matmul(a, b);
  // Integer operands have no other product than this one.
  const Shape left = a.shape(), right = b.shape();
  const std::size_t last = left.rank();
  const Value products = reshape(a, left.insert(last, 1)) * reshape(b, right.insert(last - 2, 1));
  return cast(sum(products, static_cast<std::int64_t>(last) - 1), a.dtype());
}

// From left to right, two at a time.
Value einsum(std::string_view text, const std::vector<Value>& given) {
  if (given.empty())
    throw Error(ErrorCode::kInvalidArgument, "einsum: expected at least one operand, got none");
  const Equation equation(std::string(text), given);
  std::vector<LabelledValue> operands;
  for (const LabelledValue& x : equation.operands) operands.push_back(diagonal_of_repeats(x));
  LabelledValue total = operands[0];
  for (std::size_t i = 1; i < operands.size(); ++i)
    total = contracted_pair(total, operands[i], [&](int label) {
      const auto later = operands.begin() + static_cast<std::ptrdiff_t>(i) + 1;
      return has_label(equation.result, label) ||
             std::any_of(later, operands.end(),
                         [&](const LabelledValue& x) { return has_label(x.labels, label); });
    });
  total = summed_over_others(total, [&](int label) { return has_label(equation.result, label); });
  return in_order(total, equation.result).value;
}

}  // namespace limpid
