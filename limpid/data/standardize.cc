#include "limpid/data/standardize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/in_quotes.h"
#include "limpid/data/row_reader.h"
#include "limpid/function/builder.h"
#include "limpid/ops/arithmetic.h"

namespace limpid {
namespace {

[[noreturn]] void refuse(ErrorCode code, const std::string& what) {
  throw Error(code, "standardize: " + what);
}

// ---- fitting

// The statistics of a column. One pass over the rows sums all columns, each in the order of the
// rows.
struct Column {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  double sum = 0, mean = 0, squares = 0;
};

[[noreturn]] void refuse_number(std::string_view what, std::int64_t row, double number,
                                const std::string& column) {
  refuse(ErrorCode::kInvalidArgument,
         fmt::format(
             "row {} of the training set has {} in column {} of the {}, expected a finite number",
             row, number, column, what));
}

// The columns of a table. `width` numbers of a row after each other are of one column; after
// `count` columns, a row begins with the first again.
struct Columns {
  std::size_t count, width = 1;
};

// Calls use(row, column, x) for every number x of a table, as f64.
template <class Use>
void for_each_entry(const Tensor& table, const Columns& columns, const Use& use) {
  RowReader<float> rows(table);
  for (std::int64_t row = 0; row < rows.size(); ++row) {
    const std::span<const float> numbers = rows[row];
    for (std::size_t i = 0; i < numbers.size(); ++i)
      use(row, i / columns.width % columns.count, static_cast<double>(numbers[i]));
  }
}

Affine fit_columns(const Tensor& table, const std::vector<std::string>& names, Scaling scaling,
                   std::string_view what, const Columns& of_row) {
  const std::size_t count = of_row.count;
  const auto n = static_cast<double>(table.elements() / static_cast<std::int64_t>(count));
  const auto name_of = [&](std::size_t c) {
    return names.empty() ? std::to_string(c) : in_quotes(names[c]);
  };
  std::vector<Column> columns(count);
  std::optional<std::pair<std::size_t, std::int64_t>> bad;  // column, row: the first in this order
  double bad_number = 0;
  for_each_entry(table, of_row, [&](std::int64_t row, std::size_t c, double x) {
    Column& column = columns[c];
    if (!std::isfinite(x) && (!bad || c < bad->first)) {
      bad = {c, row};
      bad_number = x;
    }
    column.low = std::min(column.low, x);
    column.high = std::max(column.high, x);
    column.sum += x;
  });
  if (bad) refuse_number(what, bad->second, bad_number, name_of(bad->first));
  for (Column& column : columns) column.mean = column.sum / n;
  if (scaling == Scaling::kZScore)
    for_each_entry(table, of_row, [&](std::int64_t, std::size_t c, double x) {
      columns[c].squares += (x - columns[c].mean) * (x - columns[c].mean);
    });
  std::vector<float> centers, scales;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const Column& column = columns[c];
    double center = column.low, scale = column.high - column.low;
    if (scaling == Scaling::kZScore) {
      center = column.mean;
      scale = std::sqrt(column.squares / n);
    }
    // The mean of equal numbers may differ from them by rounding; that difference is not a
    // deviation.
    if (column.low == column.high) {
      center = column.low;
      scale = 1;
    }
    // The differences from the centre are rounded to f32, too.
    const double widest = std::max(column.high - center, center - column.low);
    if (std::max(2 * scale, widest) > std::numeric_limits<float>::max() ||
        scale < std::numeric_limits<float>::min())
      refuse(
          ErrorCode::kInvalidArgument,
          fmt::format("the standard deviation or range {} of column {} of the {} is outside of f32",
                      scale, name_of(c), what));
    centers.push_back(static_cast<float>(center));
    scales.push_back(static_cast<float>(scale));
  }
  const Shape shape{static_cast<std::int64_t>(count)};
  return {Tensor::from(shape, centers), Tensor::from(shape, scales)};
}

// Each column by itself.
Affine fit_columns(const Tensor& table, const std::vector<std::string>& names, Scaling scaling,
                   std::string_view what) {
  return fit_columns(table, names, scaling, what, {static_cast<std::size_t>(table.shape()[1])});
}

// The same of the targets of a regression.
std::optional<Affine> fit_targets(const Dataset& train, Scaling scaling) {
  if (train.task != Task::kRegression) return {};
  return fit_columns(train.targets, train.target_names, scaling, "targets");
}

// The examples that sums over their numbers are fitted to, evenly spread over the set.
Tensor some_examples(const Dataset& train) {
  constexpr std::int64_t kMostFitted = 16384;
  if (train.size() == 0)
    refuse(ErrorCode::kInvalidArgument,
           fmt::format("{} has no rows to fit to", in_quotes(train.name)));
  const std::int64_t taken = std::min(train.size(), kMostFitted);
  std::vector<std::int32_t> rows(static_cast<std::size_t>(taken));
  for (std::int64_t i = 0; i < taken; ++i)
    rows[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i * train.size() / taken);
  return gather_rows(train, rows).inputs;
}

// A row of the columns' numbers, as the rows of the examples are.
Affine spread(const Affine& by_column, const Columns& columns, std::size_t of_row) {
  const auto all = [&](const Tensor& one) {
    const auto values = one.values<float>();
    return Tensor::generate<float>(Shape{static_cast<std::int64_t>(of_row)},
                                   [&](std::span<float> out) {
                                     for (std::size_t i = 0; i < out.size(); ++i)
                                       out[i] = values[i / columns.width % columns.count];
                                   });
  };
  return {all(by_column.center), all(by_column.scale)};
}

// ---- applying

Tensor apply(const Affine& affine, const Tensor& table, std::string_view what) {
  if (table.shape().rank() != 2 || table.shape()[1] != affine.center.elements())
    refuse(ErrorCode::kShape, fmt::format("{} are {}, the fit has {} columns", what,
                                          to_string(table.type()), affine.center.elements()));
  RowReader<float> rows(table);
  const auto center = affine.center.values<float>();
  const auto scale = affine.scale.values<float>();
  return Tensor::generate<float>(table.shape(), [&](std::span<float> out) {
    auto place = out.begin();
    for (std::int64_t row = 0; row < rows.size(); ++row) {
      const std::span<const float> raw = rows[row];
      for (std::size_t c = 0; c < raw.size(); ++c) *place++ = (raw[c] - center[c]) / scale[c];
    }
  });
}

// The two tensors as parameters with the shape of the feature or target.
Params params_of(const Affine& affine, std::string_view of, const Shape& shape) {
  if (affine.center.elements() != shape.elements())
    refuse(ErrorCode::kShape, fmt::format("the model's {} has the shape {}, the fit has {} columns",
                                          of, to_string(shape), affine.center.elements()));
  const std::string name = fmt::format("standardize.{}", of);
  return {{name + ".center", affine.center.reshape(shape)},
          {name + ".scale", affine.scale.reshape(shape)}};
}

}  // namespace

Standardization fit_standardization(const Dataset& train, Scaling scaling) {
  const DefaultFloatMode mode;
  if (scaling == Scaling::kNone) return {};
  if (train.size() == 0)
    refuse(ErrorCode::kInvalidArgument,
           fmt::format("{} has no rows to fit to", in_quotes(train.name)));
  if (train.windows)
    refuse(ErrorCode::kInvalidArgument,
           fmt::format("{} is a text, expected columns of numbers", in_quotes(train.name)));
  return {fit_columns(train.inputs, train.feature_names, scaling, "inputs"),
          fit_targets(train, scaling)};
}

Standardization fit_channels(const Dataset& train) {
  const DefaultFloatMode mode;
  if (!train.picture)
    refuse(ErrorCode::kInvalidArgument,
           fmt::format("{} has no pictures, expected channels", in_quotes(train.name)));
  const auto number = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  const Columns channels{number(train.picture->channels),
                         number(train.picture->height * train.picture->width)};
  const Affine fit = fit_columns(some_examples(train), {}, Scaling::kZScore, "inputs", channels);
  return {spread(fit, channels, number(train.picture->elements())),
          fit_targets(train, Scaling::kZScore)};
}

Standardization fit_features(const Dataset& train, Scaling scaling) {
  const DefaultFloatMode mode;
  const std::optional<SequenceShape> sequence = train.as_sequence();
  if (!sequence)
    refuse(ErrorCode::kInvalidArgument,
           fmt::format("{} has no sequences, expected steps", in_quotes(train.name)));
  if (scaling == Scaling::kNone) return {};
  const Columns features{static_cast<std::size_t>(sequence->features)};
  const Affine fit = fit_columns(some_examples(train), {}, scaling, "inputs", features);
  return {spread(fit, features, static_cast<std::size_t>(sequence->steps * sequence->features)),
          fit_targets(train, scaling)};
}

Split standardize(Split data, const Standardization& standardization) {
  const DefaultFloatMode mode;
  for (Dataset* part : {&data.train, &data.validation, &data.test}) {
    if (standardization.inputs)
      part->inputs = apply(*standardization.inputs, part->inputs, "inputs");
    if (standardization.targets)
      part->targets = apply(*standardization.targets, part->targets, "targets");
  }
  return data;
}

Model with_standardization(const Model& model, const Standardization& standardization) {
  const DefaultFloatMode mode;
  const std::optional<Affine>& of_inputs = standardization.inputs;
  const std::optional<Affine>& of_targets = standardization.targets;
  if (!of_inputs && !of_targets) return model;
  if (!model.params.within("standardize").empty())
    refuse(ErrorCode::kInvalidArgument, "the model is standardised already");
  const Input data = data_input(model);
  const Output& result = model.function.outputs().front();
  Params added;
  if (of_inputs) added.merge("", params_of(*of_inputs, "input", data.type.shape));
  if (of_targets)
    added.merge("", params_of(*of_targets, "output", model.function.type(result.value).shape));

  std::vector<Input> inputs;
  for (const Input& input : model.function.inputs())
    if (input.name != data.name) inputs.push_back(input);
  for (const auto& [name, tensor] : added) inputs.push_back({name, tensor.type()});
  inputs.push_back(data);
  const auto body = [&](std::span<const Value> in) {
    Args args;
    for (std::size_t i = 0; i < in.size(); ++i) args.set(inputs[i].name, in[i]);
    Builder& builder = in[0].builder();
    if (of_inputs) {
      const Builder::Scope scope(builder, "standardize");
      args.set(data.name, (in.back() - args.at("standardize.input.center")) /
                              args.at("standardize.input.scale"));
    }
    std::vector<Value> arguments;
    for (const Input& input : model.function.inputs()) arguments.push_back(args.at(input.name));
    Value output = builder.inline_function(model.function, arguments).front();
    if (of_targets) {
      const Builder::Scope scope(builder, "standardize");
      output = output * args.at("standardize.output.scale") + args.at("standardize.output.center");
    }
    return std::vector<Value>{output};
  };
  Model wrapped{trace(model.function.name(), inputs, body, {result.name}), model.params,
                model.config};
  wrapped.params.merge("", added);
  return wrapped;
}

bool is_standardization(std::string_view parameter) {
  return parameter.starts_with("standardize.");
}

}  // namespace limpid
