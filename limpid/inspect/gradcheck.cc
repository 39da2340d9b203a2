#include "limpid/inspect/gradcheck.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/number_text.h"
#include "limpid/core/statistics.h"
#include "limpid/function/builder.h"
#include "limpid/inspect/table.h"
#include "limpid/nn/init.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/widen.h"

namespace limpid {
namespace {

// Reduces the first output to one number that depends on all of its elements. With `magnitude`
// there is a second output, the sum of the magnitudes of the terms.
Function weighted_sum(const Function& wide, Key key, bool magnitude) {
  return trace("gradcheck", wide.inputs(), [&](std::span<const Value> in) {
    Builder& builder = in[0].builder();
    const Value y = builder.inline_function(wide, in)[0];
    const Value weights = constant(builder, widen(nn::normal(1)(key, y.shape())));
    const Value terms = y * weights;
    std::vector<Value> outputs{sum(terms)};
    if (magnitude) outputs.push_back(sum(abs(terms)));
    return outputs;
  });
}

// The elements to check: all, or the requested number of them, in order.
std::vector<std::int64_t> elements_of(std::int64_t count, std::int64_t samples, Key key) {
  std::vector<std::int64_t> elements;
  for (std::int64_t i = 0; i < std::min(count, samples); ++i)
    elements.push_back(count <= samples
                           ? i
                           : static_cast<std::int64_t>(key.below(static_cast<std::uint64_t>(count),
                                                                 static_cast<std::uint64_t>(i))));
  std::sort(elements.begin(), elements.end());
  elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
  return elements;
}

// A difference quotient.
struct Slope {
  double value;
  // Bound of its rounding error: the loss is a sum, rounded to a few units in the last place of its
  // terms, and the difference of two such sums is divided by a small step. Where the true gradient
  // is 0, as that of a number added to all operands of a softmax, the quotient is rounding error
  // alone.
  double noise;
};

// The loss as a function of one element of one input.
class Moved {
 public:
  Moved(const Function& loss, const std::vector<Tensor>& inputs,
        const std::function<void()>& between)
      : workspace_(compile(loss)), inputs_(inputs), between_(between) {
    for (const Tensor& t : inputs) pointers_.push_back(t.bytes().data());
  }

  Slope slope(std::size_t input, std::int64_t element, double step) {
    const auto values = inputs_[input].values<double>();
    std::vector<double> moved(values.begin(), values.end());
    const double x = moved[static_cast<std::size_t>(element)];
    double magnitude = 0;
    const auto at = [&](double place) {
      if (between_) between_();
      moved[static_cast<std::size_t>(element)] = place;
      pointers_[input] = moved.data();
      double result = 0;
      const std::array<void*, 2> outputs = {&result, &magnitude};
      workspace_.run(pointers_, outputs);
      return result;
    };
    const double high = at(x + step);
    const double low = at(x - step);
    pointers_[input] = values.data();
    // The difference actually added, after rounding.
    const double moved_by = (x + step) - (x - step);
    constexpr double kUnits = 64;
    return {(high - low) / moved_by,
            kUnits * std::numeric_limits<double>::epsilon() * magnitude / moved_by};
  }

 private:
  Workspace workspace_;
  const std::vector<Tensor>& inputs_;
  const std::function<void()>& between_;
  std::vector<const void*> pointers_;
};

GradcheckRow check(Moved& loss, std::size_t input, const Tensor& value, const Tensor& gradient,
                   const std::vector<std::int64_t>& elements, double tolerance) {
  GradcheckRow row;
  row.checked = static_cast<std::int64_t>(elements.size());
  double largest = 0;
  for (double g : gradient.values<double>()) largest = std::max(largest, std::fabs(g));
  bool first = true;
  for (std::int64_t e : elements) {
    const double x = value.values<double>()[static_cast<std::size_t>(e)];
    const double g = gradient.values<double>()[static_cast<std::size_t>(e)];
    const auto error_of = [&](const Slope& d) {
      const double size = std::max({std::fabs(g), std::fabs(d.value), 1e-3 * largest});
      const double beyond = std::fabs(g - d.value) - d.noise;
      return beyond <= 0 ? 0 : beyond / size;
    };
    const double step = 1e-6 * std::max(1.0, std::fabs(x));
    Slope difference = loss.slope(input, e, step);
    if (!(error_of(difference) <= tolerance)) {
      const Slope nearer = loss.slope(input, e, step / 10);
      if (error_of(nearer) < error_of(difference)) difference = nearer;
    }
    const double error = error_of(difference);
    if (!first && !(error > row.relative_error) && !std::isnan(error)) continue;
    first = false;
    row.gradient = g;
    row.difference = difference.value;
    row.absolute_error = std::fabs(g - difference.value);
    row.relative_error = error;
    row.index.assign(1, e);
    if (std::isnan(error)) break;
  }
  row.agrees = row.relative_error <= tolerance;
  return row;
}

}  // namespace

std::vector<GradcheckRow> gradcheck(const Function& f, const Params& inputs, Key key,
                                    const GradcheckOptions& options) {
  const DefaultFloatMode mode;
  if (f.outputs().empty() || !is_floating(f.type(f.outputs()[0].value).dtype))
    throw Error(ErrorCode::kDtype, "gradcheck: expected a floating-point output");
  if (f.inputs().empty()) return {};
  const Function wide = widen(f), loss = weighted_sum(wide, key, false);
  std::vector<Tensor> values;
  std::vector<std::size_t> wrt;
  for (std::size_t i = 0; i < loss.inputs().size(); ++i) {
    values.push_back(widen(inputs.at(loss.inputs()[i].name)));
    if (loss.inputs()[i].type.dtype == Dtype::kF64) wrt.push_back(i);
  }
  const std::vector<Tensor> gradients = compile(grad(loss, wrt))(values);
  Moved moved(weighted_sum(wide, key, true), values, options.between);
  std::vector<GradcheckRow> rows;
  for (std::size_t w = 0; w < wrt.size(); ++w) {
    const Tensor& value = values[wrt[w]];
    GradcheckRow row =
        check(moved, wrt[w], value, gradients[w],
              elements_of(value.elements(), options.samples, key.fold_in(w)), options.tolerance);
    row.name = loss.inputs()[wrt[w]].name;
    row.type = f.inputs()[wrt[w]].type;
    if (!row.index.empty()) row.index = place_of(row.index[0], value.shape());
    rows.push_back(row);
  }
  return rows;
}

std::string to_text(const std::vector<GradcheckRow>& rows) {
  Table table{{{"input"},
               {"shape"},
               {"checked", Align::kRight},
               {"abs. error", Align::kRight},
               {"rel. error", Align::kRight},
               {"at"},
               {"gradient", Align::kRight},
               {"difference", Align::kRight},
               {""}},
              {}};
  for (const GradcheckRow& r : rows)
    table.rows.push_back({r.name, tuple_text(r.type.shape), grouped(r.checked),
                          fmt::format("{:.1e}", unsigned_nan(r.absolute_error)),
                          fmt::format("{:.1e}", unsigned_nan(r.relative_error)),
                          fmt::format("[{}]", fmt::join(r.index, ", ")), short_number(r.gradient),
                          short_number(r.difference), r.agrees ? "" : "DIFFERS"});
  return to_text(table);
}

}  // namespace limpid
