#include "limpid/train/diagnostics/data_facts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <set>
#include <unordered_map>

#include "limpid/core/float_mode.h"
#include "limpid/data/row_reader.h"

namespace limpid::train {
namespace {

struct Part {
  std::string_view name;
  const Dataset* data;
};

std::vector<Part> parts_of(const Split& data) {
  std::vector<Part> parts;
  for (const Part& part :
       {Part{"train", &data.train}, Part{"validation", &data.validation}, Part{"test", &data.test}})
    if (part.data->task != Task::kNextToken && part.data->inputs.shape().rank() == 2 &&
        part.data->size() > 0)
      parts.push_back(part);
  return parts;
}

// ---- columns

// Of finite values. Squares are of the difference from the first value, against cancellation.
struct Sums {
  std::int64_t count = 0;
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double first = 0, sum = 0, squares = 0;

  void add(double v) {
    if (count++ == 0) first = v;
    min = std::min(min, v);
    max = std::max(max, v);
    sum += v - first;
    squares += (v - first) * (v - first);
  }
  double mean() const { return count ? first + sum / static_cast<double>(count) : 0; }
  double std() const {
    if (count == 0) return 0;
    const double n = static_cast<double>(count);
    return std::sqrt(std::max(0.0, squares / n - (sum / n) * (sum / n)));
  }
};

// Of each column of a table, row by row; and of all its numbers, if asked for.
std::vector<Sums> sums_of(const Tensor& table, Sums* all = nullptr) {
  RowReader<float> rows(table);
  std::vector<Sums> columns(rows.width());
  for (std::int64_t r = 0; r < rows.size(); ++r) {
    const std::span<const float> row = rows[r];
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (!std::isfinite(row[c])) continue;
      columns[c].add(static_cast<double>(row[c]));
      if (all) all->add(static_cast<double>(row[c]));
    }
  }
  return columns;
}

FeatureFacts facts_of(const Sums& s, const std::vector<std::string>& names, std::size_t column) {
  return {names.empty() ? "" : names[column],
          static_cast<std::int64_t>(column),
          s.min,
          s.max,
          s.mean(),
          s.std()};
}

void describe_columns(const Dataset& train, DataFacts& facts) {
  Sums all;
  const std::vector<Sums> columns = sums_of(train.inputs, &all);
  if (all.count > 0) {
    facts.min = all.min;
    facts.max = all.max;
  }
  facts.mean = all.mean();
  facts.std = all.std();

  for (std::size_t c = 0; c < columns.size(); ++c) {
    const Sums& s = columns[c];
    if (s.count == 0 || s.min == s.max) ++facts.constant_features;
    if (s.count == 0) continue;
    facts.features.push_back(facts_of(s, train.feature_names, c));
  }
  if (facts.features.size() <= kListedFeatures) return;
  std::stable_sort(facts.features.begin(), facts.features.end(),
                   [](const FeatureFacts& a, const FeatureFacts& b) {
                     return std::hypot(a.mean, a.std) > std::hypot(b.mean, b.std);
                   });
  facts.features.resize(kListedFeatures);
}

// ---- rows

void find_non_finite(const Part& part, DataFacts& facts) {
  RowReader<float> rows(part.data->inputs);
  for (std::int64_t r = 0; r < rows.size(); ++r) {
    const std::span<const float> row = rows[r];
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (std::isfinite(row[c])) continue;
      ++facts.non_finite;
      if (facts.first_non_finite.size() < kListedNonFinite)
        facts.first_non_finite.push_back(
            {std::string(part.name), r, static_cast<std::int64_t>(c), static_cast<double>(row[c])});
    }
  }
}

// A hash of the bits of a row, eight bytes at a time. It is never stored.
std::uint64_t key_of(std::span<const float> row) {
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15ull;
  const std::span<const std::byte> bytes = std::as_bytes(row);
  std::uint64_t key = bytes.size();
  for (std::size_t i = 0; i < bytes.size(); i += sizeof key) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min(sizeof word, bytes.size() - i));
    key = (key ^ word) * kFactor;
    key ^= key >> 32;
  }
  return key;
}

// The first of all equal rows, over all parts so far.
class Seen {
 public:
  struct Place {
    const Part* part;
    std::int64_t row;
  };

  // Where a row with these bits was first seen; nullptr if this is the first, which is then stored.
  const Place* find_or_add(const Part& part, std::int64_t row, std::span<const float> values) {
    const std::uint64_t key = key_of(values);
    const auto [begin, end] = places_.equal_range(key);
    for (auto it = begin; it != end; ++it) {
      RowReader<float> rows(it->second.part->data->inputs);
      const std::span<const float> other = rows[it->second.row];
      if (other.size() == values.size() &&
          std::memcmp(other.data(), values.data(), values.size_bytes()) == 0)
        return &it->second;
    }
    places_.emplace(key, Place{&part, row});
    return nullptr;
  }

 private:
  std::unordered_multimap<std::uint64_t, Place> places_;
};

void find_duplicates(const std::vector<Part>& parts, DataFacts& facts) {
  Seen seen;
  for (const Part& part : parts) {
    RowReader<float> rows(part.data->inputs);
    for (std::int64_t r = 0; r < rows.size(); ++r) {
      const Seen::Place* place = seen.find_or_add(part, r, rows[r]);
      if (!place) continue;
      auto found = std::find_if(
          facts.duplicates.begin(), facts.duplicates.end(),
          [&](const Duplicates& d) { return d.part == part.name && d.other == place->part->name; });
      if (found == facts.duplicates.end())
        found =
            facts.duplicates.insert(found, {std::string(part.name), std::string(place->part->name),
                                            0, part.data->size(), r, place->row});
      ++found->rows;
    }
  }
}

void describe_targets(const Dataset& train, DataFacts& facts) {
  if (train.task != Task::kRegression) return;
  const std::vector<Sums> columns = sums_of(train.targets);
  for (std::size_t c = 0; c < std::min(columns.size(), kListedFeatures); ++c)
    facts.targets.push_back(facts_of(columns[c], train.target_names, c));
}

// ---- columns that tell the target by themselves

// With fewer rows a column may do so by chance.
constexpr std::int64_t kFewestRows = 20;
constexpr std::int64_t kRowsOfAClass = 10;

// Columns with one value per class. Listed if they, together, separate all classes.
std::vector<std::size_t> columns_by_class(const Dataset& train) {
  RowReader<float> rows(train.inputs);
  const auto labels = train.targets.values<std::int32_t>();
  using Row = std::vector<float>;
  std::vector<Row> first(static_cast<std::size_t>(train.classes));  // of a class; empty: not seen
  std::vector<const Row*> seen;
  std::vector<std::size_t> columns(rows.width());
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  for (std::int64_t r = 0; r < rows.size() && !columns.empty(); ++r) {
    const std::span<const float> row = rows[r];
    Row& known = first[static_cast<std::size_t>(labels[static_cast<std::size_t>(r)])];
    if (known.empty()) {
      known.assign(row.begin(), row.end());
      seen.push_back(&known);
      continue;
    }
    std::erase_if(columns, [&](std::size_t c) { return !(row[c] == known[c]); });
  }
  std::erase_if(columns, [&](std::size_t c) {
    return std::all_of(seen.begin(), seen.end(),
                       [&](const Row* row) { return (*row)[c] == (*seen[0])[c]; });
  });
  std::set<Row> kinds;
  for (const Row* row : seen) {
    Row kind;
    for (const std::size_t c : columns) kind.push_back((*row)[c]);
    kinds.insert(std::move(kind));
  }
  const bool tell = kinds.size() == seen.size() && seen.size() > 1 &&
                    train.size() >= kRowsOfAClass * static_cast<std::int64_t>(seen.size());
  return tell ? columns : std::vector<std::size_t>();
}

// Columns that are a linear function of the only target, if there are other columns.
std::vector<std::size_t> columns_by_line(const Dataset& train) {
  const Sums target = sums_of(train.targets)[0];
  const std::vector<Sums> columns = sums_of(train.inputs);
  std::vector<double> means, products(columns.size());
  for (const Sums& column : columns) means.push_back(column.mean());
  RowReader<float> rows(train.inputs), targets(train.targets);
  for (std::int64_t r = 0; r < rows.size(); ++r) {
    const std::span<const float> row = rows[r];
    const double difference = static_cast<double>(targets[r][0]) - target.mean();
    for (std::size_t c = 0; c < row.size(); ++c)
      products[c] += (static_cast<double>(row[c]) - means[c]) * difference;
  }
  std::vector<std::size_t> found;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (!(columns[c].std() > 0) || !(target.std() > 0)) continue;
    const double correlation =
        products[c] / static_cast<double>(rows.size()) / columns[c].std() / target.std();
    constexpr double kRounding = 1e-6;
    if (std::fabs(correlation) > 1 - kRounding) found.push_back(c);
  }
  return found.size() < columns.size() ? found : std::vector<std::size_t>();
}

void find_target_leakage(const Dataset& train, DataFacts& facts) {
  std::vector<std::size_t> columns;
  if (train.size() < kFewestRows) return;
  if (train.task == Task::kClassification) columns = columns_by_class(train);
  if (train.task == Task::kRegression && train.outputs() == 1) columns = columns_by_line(train);
  if (columns.empty()) return;
  const std::vector<Sums> sums = sums_of(train.inputs);
  for (std::size_t i = 0; i < std::min(columns.size(), kListedFeatures); ++i)
    facts.target_leakage.push_back(facts_of(sums[columns[i]], train.feature_names, columns[i]));
}

void count_classes(const Dataset& train, DataFacts& facts) {
  if (train.task != Task::kClassification) return;
  facts.class_counts.assign(static_cast<std::size_t>(train.classes), 0);
  for (std::int32_t label : train.targets.values<std::int32_t>())
    ++facts.class_counts[static_cast<std::size_t>(label)];
}

}  // namespace

DataFacts data_facts(const Split& data) {
  const DefaultFloatMode mode;
  DataFacts facts;
  const std::vector<Part> parts = parts_of(data);
  facts.rows = data.train.size();
  for (const Part& part : parts) {
    if (part.data == &data.train) {
      describe_columns(data.train, facts);
      describe_targets(data.train, facts);
      find_target_leakage(data.train, facts);
      count_classes(data.train, facts);
    }
    find_non_finite(part, facts);
  }
  find_duplicates(parts, facts);
  return facts;
}

std::string_view set_name(std::string_view part) { return part == "train" ? "training" : part; }

}  // namespace limpid::train
