// Einsum: written out as diagonals, sums, transposes and matrix products.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "limpid/formats/onnx/import/detail/operators.h"
#include "limpid/formats/onnx/import/detail/products.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/shape.h"

namespace limpid::onnx::detail {
namespace {

// Names of dimensions: letters, and negative numbers for those of an ellipsis, -1 the last one.
using Labels = std::vector<int>;

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

std::size_t place(const Labels& labels, int label) {
  return static_cast<std::size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
}

// A value with a name for each of its dimensions.
struct Named {
  Value value;
  Labels labels;

  std::int64_t size(int label) const { return value.shape()[place(labels, label)]; }
};

// The value with its dimensions in another order.
Named ordered(const Named& x, const Labels& order) {
  if (order == x.labels) return x;
  std::vector<std::int64_t> permutation;
  for (const int label : order)
    permutation.push_back(static_cast<std::int64_t>(place(x.labels, label)));
  return {transpose(x.value, permutation), order};
}

// If a name occurs twice, takes the diagonal of its two dimensions.
Named without_repeats(Named x) {
  for (std::size_t first = 0; first < x.labels.size(); ++first)
    for (std::size_t second = x.labels.size() - 1; second > first; --second) {
      if (x.labels[first] != x.labels[second]) continue;
      const std::int64_t n = x.value.shape()[first];
      if (x.value.shape()[second] != n)
        throw Error(ErrorCode::kShape,
                    fmt::format("dimensions {} and {} of {} share a name but differ in size", first,
                                second, to_string(x.value.type())));
      std::vector<std::int64_t> permutation{static_cast<std::int64_t>(first),
                                            static_cast<std::int64_t>(second)};
      Labels labels{x.labels[first]};
      for (std::size_t d = 0; d < x.labels.size(); ++d)
        if (d != first && d != second) {
          permutation.push_back(static_cast<std::int64_t>(d));
          labels.push_back(x.labels[d]);
        }
      const Value front = transpose(x.value, permutation);
      const Value rows = reshape(front, front.shape().erase(1).replace(0, n * n));
      const Value diagonal = iota(x.value.builder(), n) * static_cast<double>(n + 1);
      // The name is now in front, so no pair is missed.
      return without_repeats({gather(rows, diagonal), labels});
    }
  return x;
}

Named without(Named x, int label) {
  const std::size_t axis = place(x.labels, label);
  x.value = cast(sum(x.value, static_cast<std::int64_t>(axis)), x.value.dtype());
  x.labels.erase(x.labels.begin() + static_cast<std::ptrdiff_t>(axis));
  return x;
}

template <class Keep>
Named summed_unless(Named x, const Keep& keep) {
  for (const int label : Labels(x.labels))
    if (!keep(label)) x = without(x, label);
  return x;
}

// Gives shared names the same size in both: a dimension of 1 is broadcast.
void match_sizes(Named& a, Named& b) {
  for (const int label : a.labels) {
    if (!contains(b.labels, label)) continue;
    const std::int64_t m = a.size(label), n = b.size(label);
    if (m == n) continue;
    if (m != 1 && n != 1)
      throw Error(ErrorCode::kShape,
                  fmt::format("dimensions of sizes {} and {} share a name", m, n));
    Named& small = m == 1 ? a : b;
    const Shape shape = small.value.shape();
    small.value = broadcast(small.value, shape.replace(place(small.labels, label), m == 1 ? n : m));
  }
}

std::int64_t elements(const Named& x, const Labels& labels) {
  std::int64_t product = 1;
  for (const int label : labels) product *= x.size(label);
  return product;
}

Labels joined(Labels a, const Labels& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The product of two values, summed over shared names that are not needed later.
template <class Needed>
Named contracted(Named a, Named b, const Needed& needed) {
  a = summed_unless(a, [&](int l) { return needed(l) || contains(b.labels, l); });
  b = summed_unless(b, [&](int l) { return needed(l) || contains(a.labels, l); });
  match_sizes(a, b);
  Labels batch, inner, left, right;
  for (const int label : a.labels)
    (!contains(b.labels, label) ? left : needed(label) ? batch : inner).push_back(label);
  for (const int label : b.labels)
    if (!contains(a.labels, label)) right.push_back(label);
  Shape shape;
  for (const int label : joined(batch, left)) shape = shape.insert(shape.rank(), a.size(label));
  for (const int label : right) shape = shape.insert(shape.rank(), b.size(label));
  const std::int64_t batches = elements(a, batch), rows = elements(a, left),
                     columns = elements(b, right), terms = elements(a, inner);
  const Value x = ordered(a, joined(joined(batch, left), inner)).value;
  const Value y = ordered(b, joined(joined(batch, inner), right)).value;
  const Value product = inner.empty()
                            ? reshape(x, {batches, rows, 1}) * reshape(y, {batches, 1, columns})
                            : batched_product(reshape(x, {batches, rows, terms}),
                                              reshape(y, {batches, terms, columns}));
  return {reshape(product, shape), joined(joined(batch, left), right)};
}

// ---- the equation

class Equation {
 public:
  Equation(const Node& node, const Values& inputs) : node_(node) {
    std::string text = node.text("equation", "");
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

  std::vector<Named> operands;
  Labels result;

 private:
  [[noreturn]] void fail(std::string_view what) const {
    node_.fail(ErrorCode::kFormat, fmt::format("'{}': {}", text_, what));
  }

  Labels labels_of(const std::string& term, std::size_t rank) {
    const std::size_t dots = term.find("...");
    const std::size_t letters = term.size() - (dots == std::string::npos ? 0 : 3);
    if (letters > rank || (dots == std::string::npos && letters != rank))
      fail(fmt::format("'{}' does not name the dimensions of a tensor of rank {}", term, rank));
    Labels labels;
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
    for (const Named& x : operands)
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
      if (contains(result, label)) fail(fmt::format("'{}' is duplicated in the result", term[i]));
      if (std::none_of(operands.begin(), operands.end(),
                       [&](const Named& x) { return contains(x.labels, label); }))
        fail(fmt::format("'{}' is not a dimension of an operand", term[i]));
      result.push_back(label);
    }
  }

  const Node& node_;
  std::string text_;
  int most_hidden_ = 0;
};

// From left to right, two at a time.
Values import_einsum(Node& node) {
  const Equation equation(node, node.inputs());
  std::vector<Named> operands;
  for (const Named& x : equation.operands) operands.push_back(without_repeats(x));
  Named total = operands[0];
  for (std::size_t i = 1; i < operands.size(); ++i)
    total = contracted(total, operands[i], [&](int label) {
      const auto later = operands.begin() + static_cast<std::ptrdiff_t>(i) + 1;
      return contains(equation.result, label) ||
             std::any_of(later, operands.end(),
                         [&](const Named& x) { return contains(x.labels, label); });
    });
  total = summed_unless(total, [&](int label) { return contains(equation.result, label); });
  return {ordered(total, equation.result).value};
}

constexpr NodeOp kEinsumOperators[] = {
    {.name = "Einsum",
     .since = 12,
     .meaning = "transposes, sums and matrix products, of two operands at a time",
     .import = import_einsum},
};

}  // namespace

constexpr std::span<const NodeOp> einsum_operators = kEinsumOperators;

}  // namespace limpid::onnx::detail
