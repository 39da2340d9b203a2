// What the ops that move elements do to a view.
#include <algorithm>
#include <functional>
#include <numeric>

#include "limpid/emit/detail/view.h"

namespace limpid::emit {
namespace {

std::int64_t count(std::span<const std::int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

struct Run {
  std::int64_t size, stride;
};

// The dimensions that one stride walks through, joined; the last first.
std::vector<Run> runs_of(const View& view) {
  std::vector<Run> runs;
  for (std::size_t d = view.dims.size(); d-- > 0;) {
    if (view.dims[d] == 1) continue;
    if (!runs.empty() && view.strides[d] == runs.back().stride * runs.back().size)
      runs.back().size *= view.dims[d];
    else
      runs.push_back({view.dims[d], view.strides[d]});
  }
  return runs;
}

}  // namespace

View whole(const Shape& shape) {
  View view{{shape.begin(), shape.end()}, std::vector<std::int64_t>(shape.rank()), 0};
  std::int64_t step = 1;
  for (std::size_t d = shape.rank(); d-- > 0; step *= shape[d]) view.strides[d] = step;
  return view;
}

bool is_contiguous(const View& view) {
  if (count(view.dims) == 0) return true;
  const std::vector<Run> runs = runs_of(view);
  return runs.empty() || (runs.size() == 1 && runs[0].stride == 1);
}

View broadcast(const View& view, const Shape& to) {
  View result{{to.begin(), to.end()}, std::vector<std::int64_t>(to.rank(), 0), view.offset};
  for (std::size_t i = 1; i <= view.dims.size(); ++i)
    if (view.dims[view.dims.size() - i] != 1)
      result.strides[to.rank() - i] = view.strides[view.dims.size() - i];
  return result;
}

View transpose(const View& view, std::span<const std::int64_t> permutation) {
  View result{{}, {}, view.offset};
  for (std::int64_t p : permutation) {
    result.dims.push_back(view.dims[static_cast<std::size_t>(p)]);
    result.strides.push_back(view.strides[static_cast<std::size_t>(p)]);
  }
  return result;
}

View slice(const View& view, std::span<const std::int64_t> starts,
           std::span<const std::int64_t> strides, const Shape& to) {
  View result{{to.begin(), to.end()}, view.strides, view.offset};
  for (std::size_t d = 0; d < starts.size(); ++d) {
    result.offset += starts[d] * view.strides[d];
    result.strides[d] *= to[d] > 1 ? strides[d] : 1;
  }
  return result;
}

std::optional<View> reshape(const View& view, std::span<const std::int64_t> dims) {
  View result{{dims.begin(), dims.end()}, std::vector<std::int64_t>(dims.size(), 0), view.offset};
  if (count(dims) == 0) return result;
  std::vector<Run> runs = runs_of(view);
  auto run = runs.begin();
  for (std::size_t d = dims.size(); d-- > 0;) {
    if (dims[d] == 1) continue;
    if (run->size % dims[d] != 0) return {};
    result.strides[d] = run->stride;
    run->stride *= dims[d];
    run->size /= dims[d];
    if (run->size == 1) ++run;
  }
  return result;
}

}  // namespace limpid::emit
