// Parts of a cotangent: sorted along each axis, joined where they touch, added where they overlap.
#include "limpid/transforms/detail/slices.h"

#include <algorithm>
#include <map>
#include <utility>

#include "limpid/function/builder.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/indexing.h"

namespace limpid::detail {
namespace {

using List = std::vector<std::int64_t>;

Value padded(const Part& part, const Shape& shape) {
  if (part.value.shape() == shape) return part.value;
  List high(part.low.size());
  for (std::size_t d = 0; d < high.size(); ++d)
    high[d] = shape[d] - part.low[d] - part.value.shape()[d];
  return pad(part.value, part.low, high, List(high.size(), 0));
}

// Parts that differ along one axis only, in its order, as few parts that span it from the first to
// the last: each takes the next part that begins behind its end, after zeros up to there.
std::vector<Part> joined(std::vector<Part> parts, std::size_t axis) {
  std::stable_sort(parts.begin(), parts.end(),
                   [&](const Part& a, const Part& b) { return a.low[axis] < b.low[axis]; });
  struct Row {
    std::vector<Value> values;
    List low;
    std::int64_t end;
  };
  std::vector<Row> rows;
  for (const Part& p : parts) {
    const std::int64_t begin = p.low[axis], size = p.value.shape()[axis];
    auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.end <= begin; });
    if (row == rows.end()) {
      rows.push_back({{p.value}, p.low, begin + size});
      continue;
    }
    List gap(p.low.size(), 0);
    gap[axis] = begin - row->end;
    const List none(p.low.size(), 0);
    row->values.push_back(gap[axis] == 0 ? p.value : pad(p.value, gap, none, none));
    row->end = begin + size;
  }
  std::vector<Part> result;
  for (const Row& r : rows)
    result.push_back({r.values.size() == 1 ? r.values[0]
                                           : concatenate(r.values, static_cast<std::int64_t>(axis)),
                      r.low});
  return result;
}

}  // namespace

std::optional<Part> part_in_zeros(const Value& v) {
  const Node* const maker = v.builder().maker(v.id());
  if (!maker || maker->op != &op::pad || maker->attributes.get<double>("value") != 0) return {};
  const auto& interior = maker->attributes.get<List>("interior");
  const Value inside = Value(&v.builder(), maker->inputs[0]);
  for (std::size_t d = 0; d < interior.size(); ++d)
    if (interior[d] != 0 && inside.shape()[d] > 1) return {};
  return Part{inside, maker->attributes.get<List>("low")};
}

Value sum_of_parts(std::vector<Part> parts, const Shape& shape) {
  // From the last axis on, parts of one size that are alike in all other axes become one. Others
  // are added: the published bits of gradients have that order.
  for (std::size_t axis = shape.rank(); axis-- > 0 && parts.size() > 1;) {
    std::map<std::pair<List, List>, std::vector<Part>> alike;
    for (Part& p : parts) {
      const Shape own = p.value.shape();
      List low = p.low, size(own.begin(), own.end());
      low[axis] = 0;
      alike[{std::move(low), std::move(size)}].push_back(std::move(p));
    }
    parts.clear();
    for (auto& [where, some] : alike)
      for (Part& p : joined(std::move(some), axis)) parts.push_back(std::move(p));
  }
  Value sum = padded(parts[0], shape);
  for (std::size_t i = 1; i < parts.size(); ++i) sum = sum + padded(parts[i], shape);
  return sum;
}

}  // namespace limpid::detail
