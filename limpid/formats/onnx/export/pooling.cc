// Export of pooling.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/formats/onnx/export/detail/export_op.h"
#include "limpid/ops/ops.h"

namespace limpid::onnx::detail {
namespace {

using List = std::vector<std::int64_t>;

struct PoolWriter {
  explicit PoolWriter(OpCall& call)
      : c(call),
        kernel(call.fixed_integers("kernel")),
        stride(call.fixed_integers("stride")),
        dilation(call.fixed_integers("dilation")),
        low(call.fixed_integers("low")),
        high(call.fixed_integers("high")),
        kept(call.shape(0).size() - kernel.size()) {}

  GraphWriter& g() const { return c.graph(); }
  std::int64_t elements() const {
    std::int64_t all = 1;
    for (const std::int64_t k : kernel) all = product_or_most(all, k);
    return all;
  }

  // x as (planes, 1, ...), the form that the operators take.
  std::string planes() const {
    Numbers shape = c.shape(0);
    if (kept == 2) return c.input(0);
    const Number count =
        product({shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(kept)});
    shape.erase(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(kept));
    shape.insert(shape.begin(), {count, Number{1, 0}});
    return g().node("Reshape", {c.input(0), g().integers(shape)});
  }
  std::string whole(const std::string& y) const {
    return kept == 2 ? y : g().node("Reshape", {y, g().integers(c.output_shape())});
  }

  // Padding as an attribute must be smaller than the kernel.
  bool pads_fit() const {
    for (std::size_t d = 0; d < kernel.size(); ++d)
      if (std::max(low[d], high[d]) >= kernel[d]) return false;
    return true;
  }
  // x with `value` around it. Padding of integers is of 32 bits where the model is read again, so
  // the lowest i64 comes in place of zeros.
  std::string padded(const std::string& x, std::size_t first, double value) const {
    List pads(2 * (first + kernel.size()), 0);
    for (std::size_t d = 0; d < kernel.size(); ++d) {
      pads[first + d] = low[d];
      pads[pads.size() / 2 + first + d] = high[d];
    }
    const bool replaces = c.dtype(0) == Dtype::kI64;
    const std::string y =
        g().node("Pad", {x, g().integers(pads), g().constant(replaces ? 0 : value, c.dtype(0))});
    if (!replaces) return y;
    const List sizes = last(c.shape(0));
    List whole = sizes;
    for (std::size_t d = 0; d < sizes.size(); ++d) whole[d] += low[d] + high[d];
    const Tensor inside = Tensor::generate<bool>(Shape(whole), [&](std::span<bool> out) {
      std::size_t i = 0;
      for_each(whole, [&](const List& index) {
        bool is_inside = true;
        for (std::size_t d = 0; d < index.size(); ++d)
          is_inside = is_inside && index[d] >= low[d] && index[d] < low[d] + sizes[d];
        out[i++] = is_inside;
      });
    });
    return g().node("Where", {g().constant(inside), y, g().constant(value, c.dtype(0))});
  }

  // The operator with these attributes besides those of the windows.
  Names pooled(std::string_view op, double padding, std::vector<Written> attributes,
               std::size_t outputs = 1) const {
    std::string x = planes();
    attributes.push_back({"kernel_shape", kernel});
    attributes.push_back({"strides", stride});
    if (pads_fit()) {
      List pads = low;
      pads.insert(pads.end(), high.begin(), high.end());
      attributes.push_back({"pads", pads});
    } else {
      x = padded(x, 2, padding);
    }
    if (std::any_of(dilation.begin(), dilation.end(), [](std::int64_t d) { return d != 1; }))
      attributes.push_back({"dilations", dilation});
    return g().nodes(op, {x}, attributes, outputs);
  }

  // Element `place` of all windows, each of them a slice of the padded x.
  Names slices(double padding) const {
    constexpr std::int64_t kMost = 4096;
    if (elements() > kMost)
      throw Error(
          ErrorCode::kUnsupported,
          fmt::format("onnx: {} of windows of {} elements, at most {} are written as slices",
                      c.op().name, elements(), kMost));
    const std::string x = padded(c.input(0), kept, padding);
    const Numbers y = c.output_shape();
    List axes;
    for (std::size_t d = 0; d < kernel.size(); ++d)
      axes.push_back(static_cast<std::int64_t>(kept + d));
    Names parts;
    for_each(kernel, [&](const List& element) {
      List starts, ends;
      for (std::size_t d = 0; d < kernel.size(); ++d) {
        starts.push_back(element[d] * dilation[d]);
        ends.push_back(starts[d] + (y[kept + d].constant - 1) * stride[d] + 1);
      }
      parts.push_back(g().node("Slice", {x, g().integers(starts), g().integers(ends),
                                         g().integers(axes), g().integers(stride)}));
    });
    return parts;
  }

  // Calls visit(index) for all indices below `sizes`, the last one fastest.
  template <class Visit>
  static void for_each(const List& sizes, const Visit& visit) {
    std::int64_t count = 1;
    for (const std::int64_t size : sizes) count *= size;
    List index(sizes.size());
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t digits = i;
      for (std::size_t d = sizes.size(); d-- > 0; digits /= sizes[d]) index[d] = digits % sizes[d];
      visit(index);
    }
  }
  // The numbers of the pooled dimensions.
  List last(const Numbers& shape) const {
    List sizes;
    for (std::size_t d = kept; d < shape.size(); ++d) sizes.push_back(shape[d].constant);
    return sizes;
  }

  OpCall& c;
  List kernel, stride, dilation, low, high;
  std::size_t kept;  // dimensions that are not pooled
};

// Opset 17 has no dilation but for MaxPool.
bool is_dense(const Call& call) {
  const auto& dilation = call.attributes.get<List>("dilation");
  return std::all_of(dilation.begin(), dilation.end(), [](std::int64_t d) { return d == 1; });
}

// An average times the number of its elements, or all elements added.
Names write_window_sum(OpCall& c) {
  const PoolWriter w(c);
  if (std::any_of(w.dilation.begin(), w.dilation.end(), [](std::int64_t d) { return d != 1; }))
    return {w.g().node("Sum", w.slices(0))};
  const std::string mean = w.pooled("AveragePool", 0, {{"count_include_pad", std::int64_t{1}}})[0];
  return {w.whole(
      w.g().node("Mul", {mean, w.g().constant(static_cast<double>(w.elements()), c.dtype(0))}))};
}

double lowest_of(Dtype dtype) {
  return dtype == Dtype::kI32   ? std::numeric_limits<std::int32_t>::min()
         : dtype == Dtype::kI64 ? -0x1p63
                                : -std::numeric_limits<double>::infinity();
}

Names write_max_pool(OpCall& c) {
  const PoolWriter w(c);
  const double lowest = lowest_of(c.dtype(0));
  if (!is_floating(c.dtype(0))) return {w.g().node("Max", w.slices(lowest))};
  return {w.whole(w.pooled("MaxPool", lowest, {})[0])};
}

// By ArgMax over the elements of each window. Where the largest is the lowest number, as padding
// is, the first element of x in the window is meant; -1 without one.
Names places_by_argmax(const PoolWriter& w) {
  GraphWriter& g = w.g();
  const List sizes = w.last(w.c.shape(0)), results = w.last(w.c.output_shape());
  const double lowest = lowest_of(w.c.dtype(0));
  const Names parts = w.slices(lowest);
  const std::string axis = g.integers(List{-1});
  Names columns;
  for (const std::string& part : parts) columns.push_back(g.node("Unsqueeze", {part, axis}));
  const std::string element =
      g.node("ArgMax", {g.node("Concat", columns, {{"axis", std::int64_t{-1}}})},
             {{"axis", std::int64_t{-1}}, {"keepdims", std::int64_t{0}}});
  const auto row_major = [&](const List& index) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < sizes.size(); ++d) place = place * sizes[d] + index[d];
    return place;
  };
  List offsets, begins, firsts;
  PoolWriter::for_each(w.kernel, [&](List index) {
    for (std::size_t d = 0; d < index.size(); ++d) index[d] *= w.dilation[d];
    offsets.push_back(row_major(index));
  });
  PoolWriter::for_each(results, [&](const List& result) {
    List begin, first;
    bool any = true;
    for (std::size_t d = 0; d < result.size(); ++d) {
      begin.push_back(result[d] * w.stride[d] - w.low[d]);
      const Taps taps = taps_of(
          {sizes[d], results[d], w.kernel[d], w.stride[d], w.dilation[d], w.low[d]}, result[d]);
      first.push_back(taps.first);
      any = any && taps.count > 0;
    }
    begins.push_back(row_major(begin));
    firsts.push_back(any ? row_major(first) : -1);
  });
  const auto by_window = [&](const List& numbers) {
    return g.constant(Tensor::from(Shape(results), numbers));
  };
  const std::string place =
      g.node("Add", {g.node("Gather", {g.integers(offsets), element}), by_window(begins)});
  const std::string is_lowest =
      g.node("Equal", {g.node("Max", parts), g.constant(lowest, w.c.dtype(0))});
  return {g.node("Cast", {g.node("Where", {is_lowest, by_window(firsts), place})},
                 {{"to", element_type(Dtype::kI32)}})};
}

// ONNX counts places in the whole tensor.
Names write_max_pool_indices(OpCall& c) {
  const PoolWriter w(c);
  GraphWriter& g = c.graph();
  if (!is_floating(c.dtype(0)) || !w.pads_fit()) return places_by_argmax(w);
  std::int64_t plane = 1;
  for (const std::int64_t size : w.last(c.shape(0))) plane *= size;
  const std::string places = w.pooled("MaxPool", lowest_of(c.dtype(0)), {}, 2)[1];
  const std::string within = g.node("Mod", {places, g.integer({plane, 0}, Dtype::kI64)});
  return {w.whole(g.node("Cast", {within}, {{"to", element_type(Dtype::kI32)}}))};
}

bool has_small_padding(const Call& call) {
  const List &kernel = call.attributes.get<List>("kernel"), &low = call.attributes.get<List>("low"),
             &high = call.attributes.get<List>("high");
  for (std::size_t d = 0; d < kernel.size(); ++d)
    if (std::max(low[d], high[d]) >= kernel[d]) return false;
  return true;
}

// All padding counts, or none.
bool counts_as_in_onnx(const Call& call) {
  const auto list = [&](std::string_view name) -> const List& {
    return call.attributes.get<List>(name);
  };
  const List none(list("kernel").size(), 0);
  const bool all = list("counted_low") == list("low") && list("counted_high") == list("high");
  return is_dense(call) && has_small_padding(call) &&
         (all || (list("counted_low") == none && list("counted_high") == none));
}
Names write_avg_pool(OpCall& c) {
  const PoolWriter w(c);
  const bool all =
      c.fixed_integers("counted_low") == w.low && c.fixed_integers("counted_high") == w.high;
  return {w.whole(w.pooled("AveragePool", 0, {{"count_include_pad", std::int64_t{all}}})[0])};
}

bool has_whole_p(const Call& call) {
  const double p = call.attributes.get<double>("p");
  return is_dense(call) && is_f32(call) && p >= 1 && p <= 64 &&
         p == static_cast<double>(static_cast<std::int64_t>(p));
}
Names write_lp_pool(OpCall& c) {
  const PoolWriter w(c);
  return {w.whole(w.pooled("LpPool", 0, {{"p", static_cast<std::int64_t>(c.real("p"))}})[0])};
}

constexpr ExportOp kPoolingExports[] = {
    {&op::reduce_window_sum, write_window_sum},
    {&op::max_pool, write_max_pool},
    {&op::max_pool_indices, write_max_pool_indices},
    {&op::avg_pool, write_avg_pool, counts_as_in_onnx},
    {&op::lp_pool, write_lp_pool, has_whole_p},
};

}  // namespace

std::span<const ExportOp> pooling_export_ops() { return kPoolingExports; }

}  // namespace limpid::onnx::detail
