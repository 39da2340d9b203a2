// Encodes a table's columns and fills in missing values.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/data/row_reader.h"
#include "limpid/data/table/detail/encode.h"

namespace limpid::detail {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

std::span<float> as_floats(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

void check_missing(const TableSource& source, Missing missing) {
  const auto check = [&](const std::vector<const CsvColumn*>& columns, std::size_t row,
                         std::string_view remedy) {
    for (const CsvColumn* column : columns)
      if (is_missing(*column, row))
        source.report.broken("line {}, column {}: a value is missing; {}", source.table.lines[row],
                             in_quotes(column->name), remedy);
  };
  for (std::size_t row = 0; row < source.rows(); ++row) {
    if (missing == Missing::kError)
      check(source.features, row, "missing=drop leaves such rows out, missing=impute fills them");
    if (missing != Missing::kDrop) check(source.targets, row, "missing=drop leaves such rows out");
  }
}

// Leaves out the rows with a missing value.
Dataset without_holes(const Dataset& data, const TableSource& source) {
  std::vector<std::int32_t> rows;
  std::vector<LeftOut> left_out;
  for (std::size_t row = 0; row < source.rows(); ++row) {
    const CsvColumn* hole = nullptr;
    for (const auto* columns : {&source.features, &source.targets})
      for (const CsvColumn* column : *columns)
        if (!hole && is_missing(*column, row)) hole = column;
    if (hole)
      left_out.push_back({static_cast<std::int64_t>(row),
                          fmt::format("a value of column {} is missing", in_quotes(hole->name))});
    else
      rows.push_back(static_cast<std::int32_t>(row));
  }
  if (left_out.empty()) return data;
  if (rows.empty()) source.report.broken("every row has a missing value");
  Dataset complete = gather_rows(data, rows);
  complete.notes.push_back(fmt::format(
      "missing=drop leaves out {} of {} rows, the first in line {}", left_out.size(), source.rows(),
      source.table.lines[static_cast<std::size_t>(left_out.front().row)]));
  if (complete.rows_of_table) complete.rows_of_table->left_out = std::move(left_out);
  return complete;
}

// For each category of a column, its index in the schema, or -1 if the schema lacks it.
std::vector<std::int32_t> places_of(const CsvColumn& column, const TableColumn& known) {
  std::map<std::string_view, std::int32_t> place_of;
  for (const std::string& category : known.categories)
    place_of.emplace(category, static_cast<std::int32_t>(place_of.size()));
  std::vector<std::int32_t> places;
  for (const std::string& category : column.categories) {
    const auto found = place_of.find(category);
    places.push_back(found == place_of.end() ? -1 : found->second);
  }
  return places;
}

[[noreturn]] void refuse_unseen(const TableSource& source, const CsvColumn& column, std::size_t row,
                                const std::string& value, std::string_view remedy = "") {
  source.report.broken("line {}, column {}: the training set has no {}{}", source.table.lines[row],
                       in_quotes(column.name), in_quotes(value), remedy);
}

// How a column of the schema becomes features.
struct Encoding {
  std::size_t width;
  bool categorical;
  std::optional<float> fill;
};

std::vector<Encoding> encodings_of(const TableSchema& schema) {
  std::vector<Encoding> encodings;
  for (const TableColumn& column : schema.features)
    encodings.push_back(
        {static_cast<std::size_t>(column.features()), column.categorical, column.fill});
  return encodings;
}

// The cells of one column: numbers, and for categories their places in the schema.
void write_cells(const TableSource& source, const CsvColumn& column, const TableColumn& known,
                 Unseen unseen, std::span<float> out, std::size_t stride) {
  const std::vector<std::int32_t> places = places_of(column, known);
  for (std::size_t row = 0; row < source.rows(); ++row) {
    float& cell = out[row * stride];
    if (is_missing(column, row)) {
      cell = kMissing;
    } else if (!known.categorical) {
      cell = column.numbers[row];
    } else {
      const auto code = static_cast<std::size_t>(column.codes[row]);
      if (places[code] < 0 && unseen == Unseen::kError)
        refuse_unseen(source, column, row, column.categories[code],
                      "; unseen=zeros takes it as none of the categories");
      cell = static_cast<float>(places[code]);
    }
  }
}

// f32 [N, columns]: one number for each cell of the table. A category is its place in the schema,
// or -1 if the schema lacks it; NaN is a missing value.
Tensor cells_of(const TableSource& source, const TableSchema& schema) {
  const std::size_t width = source.features.size();
  return Tensor::generate<float>(Shape{source.table.rows(), static_cast<std::int64_t>(width)},
                                 [&](std::span<float> out) {
                                   for (std::size_t c = 0; c < width && !out.empty(); ++c)
                                     write_cells(source, *source.features[c], schema.features[c],
                                                 schema.unseen, out.subspan(c), width);
                                 });
}

// Writes the features of rows of cells. All features of a missing category are NaN.
void write_features(std::span<const float> cells, const std::vector<Encoding>& encodings,
                    std::span<float> out) {
  std::memset(out.data(), 0, out.size_bytes());
  float* to = out.data();
  for (auto cell = cells.begin(); cell != cells.end();)
    for (const Encoding& e : encodings) {
      const float value = *cell++;
      if (!e.categorical)
        *to = value;
      else if (std::isnan(value))
        std::fill_n(to, e.width, kMissing);
      else if (value >= 0)
        to[static_cast<std::size_t>(value)] = 1;
      to += e.width;
    }
}

// A large table keeps only its cells, and a category takes one number instead of one for each of
// its column's categories. A small one is converted at once: its rows are read faster.
Tensor encode_features(const TableSource& source, const TableSchema& schema) {
  constexpr std::size_t kConverted = std::size_t{16} << 20;  // bytes
  std::int64_t width = 0;
  for (const TableColumn& column : schema.features) width += column.features();
  const std::int64_t rows = source.table.rows();
  const std::int64_t bytes = product_or_most(product_or_most(rows, width), sizeof(float));
  if (static_cast<std::uint64_t>(bytes) > kMaxTableBytes)
    source.report.unsupported("{} rows of {} features are more than {} bytes", rows, width,
                              kMaxTableBytes);
  Tensor cells = cells_of(source, schema);
  const std::vector<Encoding> encodings = encodings_of(schema);
  if (std::none_of(encodings.begin(), encodings.end(), [](auto& e) { return e.categorical; }))
    return cells;
  const Type type{Dtype::kF32, Shape{rows, width}};
  const auto read = [=](std::int64_t first, std::int64_t count, std::span<std::byte> out) {
    const std::size_t columns = encodings.size();
    write_features(cells.values<float>().subspan(static_cast<std::size_t>(first) * columns,
                                                 static_cast<std::size_t>(count) * columns),
                   encodings, as_floats(out));
  };
  if (type.bytes() > kConverted) return Tensor::deferred_rows(type, read);
  return Tensor::generate_bytes(type, [&](std::span<std::byte> out) { read(0, rows, out); });
}

// Classes i32 [N]. A row whose target is missing gets class 0: it will be dropped.
Tensor encode_classes(const TableSource& source, const TableColumn& known) {
  CsvColumn column = *source.targets[0];
  if (!column.categorical) {
    std::map<float, std::int32_t> code_of;
    for (const float number : numbers_of(column)) {
      code_of.emplace(number, static_cast<std::int32_t>(code_of.size()));
      column.categories.push_back(fmt::format("{}", number));
    }
    for (const float number : column.numbers)
      column.codes.push_back(std::isnan(number) ? -1 : code_of.at(number));
  }
  const std::vector<std::int32_t> places = places_of(column, known);
  return Tensor::generate<std::int32_t>(
      Shape{source.table.rows()}, [&](std::span<std::int32_t> out) {
        for (std::size_t row = 0; row < out.size(); ++row) {
          const std::int32_t code = column.codes[row];
          if (code < 0) continue;
          out[row] = places[static_cast<std::size_t>(code)];
          if (out[row] < 0)
            refuse_unseen(source, column, row, column.categories[static_cast<std::size_t>(code)]);
        }
      });
}

// f32 [N, targets].
Tensor encode_numbers(const TableSource& source) {
  const std::size_t width = source.targets.size();
  return Tensor::generate<float>(Shape{source.table.rows(), static_cast<std::int64_t>(width)},
                                 [&](std::span<float> out) {
                                   for (std::size_t i = 0; i < out.size(); ++i)
                                     out[i] = source.targets[i % width]->numbers[i / width];
                                 });
}

// Of a feature: the sum and the number of the values that are present.
struct Present {
  double sum = 0;
  std::int64_t count = 0;
};

// One pass: a large table is converted again for each.
std::vector<Present> present_in(const Tensor& inputs) {
  std::vector<Present> features(static_cast<std::size_t>(inputs.shape()[1]));
  RowReader<float> rows(inputs);
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    const std::span<const float> row = rows[i];
    for (std::size_t c = 0; c < features.size(); ++c) {
      if (std::isnan(row[c])) continue;
      features[c].sum += static_cast<double>(row[c]);
      ++features[c].count;
    }
  }
  return features;
}

std::optional<float> mean_of(const Present& feature) {
  if (feature.count == 0) return {};
  return static_cast<float>(feature.sum / static_cast<double>(feature.count));
}

// Features are 1 in the rows of their category, else 0. The first of the most frequent ones.
std::optional<float> mode_of(std::span<const Present> categories) {
  const auto most = std::max_element(categories.begin(), categories.end(),
                                     [](auto& a, auto& b) { return a.sum < b.sum; });
  if (most->sum == 0) return {};
  return static_cast<float>(most - categories.begin());
}

// Throws if a row of data has a hole for which the schema has no replacement.
void check_fills(const Dataset& data, const TableSchema& schema) {
  const auto whole = [](const TableColumn& column) { return column.fill.has_value(); };
  if (std::all_of(schema.features.begin(), schema.features.end(), whole)) return;
  RowReader<float> rows(data.inputs);
  for (std::int64_t row = 0; row < rows.size(); ++row) {
    std::span<const float> features = rows[row];
    for (const TableColumn& column : schema.features) {
      if (!column.fill && std::isnan(features.front()))
        throw Error(ErrorCode::kInvalidArgument,
                    fmt::format("table: missing=impute: the model has no replacement for the "
                                "missing value of column {} in row {}",
                                in_quotes(column.name), row));
      features = features.subspan(static_cast<std::size_t>(column.features()));
    }
  }
}

// Replaces what is missing in rows of features.
void fill_in(std::span<float> rows, const std::vector<Encoding>& encodings) {
  for (auto to = rows.begin(); to != rows.end();)
    for (const Encoding& e : encodings) {
      const auto end = to + static_cast<std::ptrdiff_t>(e.width);
      if (std::isnan(*to) && e.categorical) {
        std::fill(to, end, 0.0f);
        to[static_cast<std::ptrdiff_t>(e.fill.value())] = 1;
      } else if (std::isnan(*to)) {
        *to = e.fill.value();
      }
      to = end;
    }
}

// All rows are examples.
TableRows rows_of(const TableSource& source) {
  TableRows rows;
  rows.of_example.resize(source.rows());
  std::iota(rows.of_example.begin(), rows.of_example.end(), std::int64_t{0});
  if (!source.ids) return rows;
  rows.id_column = source.ids->name;
  for (const std::int32_t code : source.ids->codes)
    rows.ids.push_back(code < 0 ? "" : source.ids->categories[static_cast<std::size_t>(code)]);
  return rows;
}

}  // namespace

Dataset encode_table(const TableSource& source, const TableSchema& schema) {
  check_missing(source, schema.missing);
  Dataset data;
  data.name = source.name;
  data.notes = source.notes;
  data.task = schema.task;
  data.feature_names = schema.feature_names();
  data.inputs = encode_features(source, schema);
  if (schema.task == Task::kClassification) {
    data.class_names = schema.targets.at(0).categories;
    data.classes = static_cast<std::int64_t>(data.class_names.size());
  }
  for (const TableColumn& column : schema.targets) data.target_names.push_back(column.name);
  data.targets = !source.targets.empty() && schema.task == Task::kClassification
                     ? encode_classes(source, schema.targets[0])
                     : encode_numbers(source);
  data.rows_of_table = rows_of(source);
  return schema.missing == Missing::kDrop ? without_holes(data, source) : data;
}

void fit_fills(TableSchema& schema, const Dataset& train) {
  const std::vector<Present> present = present_in(train.inputs);
  std::span<const Present> features = present;
  for (TableColumn& column : schema.features) {
    const auto width = static_cast<std::size_t>(column.features());
    column.fill = column.categorical ? mode_of(features.first(width)) : mean_of(features.front());
    if (!column.fill && schema.missing == Missing::kImpute)
      throw Error(
          ErrorCode::kFormat,
          fmt::format("table: column {} has no value in the training set", in_quotes(column.name)));
    features = features.subspan(width);
  }
}

void impute(Dataset& data, const TableSchema& schema) {
  check_fills(data, schema);
  const Tensor holes = data.inputs;
  const auto read = [holes, encodings = encodings_of(schema)](
                        std::int64_t first, std::int64_t count, std::span<std::byte> out) {
    holes.read_rows(first, count, out);
    fill_in(as_floats(out), encodings);
  };
  data.inputs = holes.has_deferred_rows()
                    ? Tensor::deferred_rows(holes.type(), read)
                    : Tensor::generate_bytes(holes.type(), [&](std::span<std::byte> out) {
                        read(0, holes.shape()[0], out);
                      });
}

}  // namespace limpid::detail
