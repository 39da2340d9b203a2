#include "limpid/train/diagnostics/data_facts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
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

// ---- columns that almost tell it

// Columns are compared with each other; of so many, as of a picture's pixels, none is special.
constexpr std::size_t kMostCompared = 256;
// Of larger sets, rows at even distances are read.
constexpr std::int64_t kRowsRead = 4000;
// A row's neighbours along a column: so many with the next smaller values, and with the next
// larger.
constexpr std::size_t kNeighbours = 3;
constexpr std::int64_t kFewestCompared = 40;

// The columns of a table as they are read: each a vector of numbers.
std::vector<std::vector<float>> columns_read(const Tensor& table, std::int64_t count) {
  RowReader<float> rows(table);
  std::vector<std::vector<float>> columns(rows.width());
  for (std::int64_t i = 0; i < count; ++i) {
    const std::span<const float> row = rows[i * rows.size() / count];
    for (std::size_t c = 0; c < row.size(); ++c) columns[c].push_back(row[c]);
  }
  return columns;
}

// What the neighbours of each row along a column tell of its target: of classes, the share of the
// errors of always guessing the most frequent one that a majority of them avoids; of numbers, the
// share of the variance that their mean explains.
std::vector<double> shares_told(const Dataset& train,
                                const std::vector<std::vector<float>>& columns) {
  const std::size_t n = columns[0].size();
  std::vector<std::size_t> classes;
  std::vector<double> numbers;
  Sums all;
  std::vector<std::size_t> counts(static_cast<std::size_t>(train.classes));
  double most = 0;
  if (train.task == Task::kClassification) {
    const auto labels = train.targets.values<std::int32_t>();
    for (std::size_t i = 0; i < n; ++i) {
      classes.push_back(static_cast<std::size_t>(labels[i * labels.size() / n]));
      most = std::max(most, static_cast<double>(++counts[classes.back()]));
    }
  } else {
    const auto targets = columns_read(train.targets, static_cast<std::int64_t>(n));
    for (const float v : targets[0]) {
      numbers.push_back(static_cast<double>(v));
      all.add(numbers.back());
    }
  }
  const double guessed = classes.empty() ? all.std() * all.std() * static_cast<double>(n)
                                         : static_cast<double>(n) - most;
  // The error at a place of the order: 1 or 0, or a square.
  std::vector<std::size_t> order(n);
  const auto error = [&](std::size_t at) {
    const std::size_t from = at - std::min(at, kNeighbours), to = std::min(n, at + kNeighbours + 1);
    if (classes.empty()) {
      double sum = 0;
      for (std::size_t i = from; i < to; ++i) sum += i == at ? 0 : numbers[order[i]];
      const double off = sum / static_cast<double>(to - from - 1) - numbers[order[at]];
      return off * off;
    }
    std::fill(counts.begin(), counts.end(), 0);
    for (std::size_t i = from; i < to; ++i) counts[classes[order[i]]] += i != at;
    // At the edge of an interval as many neighbours may be of its class as of the other.
    return counts[classes[order[at]]] == *std::max_element(counts.begin(), counts.end()) ? 0.0
                                                                                         : 1.0;
  };
  std::vector<double> shares;
  for (const std::vector<float>& column : columns) {
    const bool finite =
        std::all_of(column.begin(), column.end(), [](float v) { return std::isfinite(v); });
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (finite)
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return column[a] < column[b]; });
    double rest = 0;
    for (std::size_t at = 0; at < n; ++at) rest += error(at);
    shares.push_back(finite && guessed > 0 ? std::max(0.0, 1 - rest / guessed) : 0);
  }
  return shares;
}

void find_telling_column(const Dataset& train, DataFacts& facts) {
  const bool one_target = train.task == Task::kClassification ||
                          (train.task == Task::kRegression && train.outputs() == 1);
  const std::size_t width = RowReader<float>(train.inputs).width();
  const std::int64_t count = std::min(train.size(), kRowsRead);
  if (!one_target || width < 2 || width > kMostCompared || count < kFewestCompared ||
      !facts.target_leakage.empty())
    return;
  const std::vector<double> shares = shares_told(train, columns_read(train.inputs, count));
  const auto best = std::max_element(shares.begin(), shares.end());
  double next = 0;
  for (auto it = shares.begin(); it != shares.end(); ++it)
    if (it != best) next = std::max(next, *it);
  // The others leave five times as much: a good measurement is rarely so far from the second best.
  constexpr double kLeast = 0.9, kTimes = 5;
  if (!(*best >= kLeast) || !(kTimes * (1 - *best) <= 1 - next)) return;
  const auto column = static_cast<std::size_t>(best - shares.begin());
  facts.telling.push_back(
      {facts_of(sums_of(train.inputs)[column], train.feature_names, column), *best, next});
}

// ---- values far from all others

// The gap to the others is so many times their range.
constexpr double kGap = 5;

// The extremes of a column, and of the values but these.
struct Extremes {
  Sums all, above_min, below_max;
  std::int64_t at_min = 0, at_max = 0;
};

void find_far_values(const Tensor& table, const std::vector<std::string>& names, bool target,
                     DataFacts& facts) {
  const std::vector<Sums> sums = sums_of(table);
  std::vector<Extremes> columns(sums.size());
  RowReader<float> rows(table);
  for (std::int64_t r = 0; r < rows.size(); ++r) {
    const std::span<const float> row = rows[r];
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (!std::isfinite(row[c])) continue;
      const auto v = static_cast<double>(row[c]);
      if (v == sums[c].min)
        ++columns[c].at_min;
      else
        columns[c].above_min.add(v);
      if (v == sums[c].max)
        ++columns[c].at_max;
      else
        columns[c].below_max.add(v);
    }
  }
  for (std::size_t c = 0; c < columns.size() && facts.far_values.size() < kListedFeatures; ++c) {
    const auto add = [&](double value, std::int64_t count, const Sums& others) {
      // Two values alone, as of a one-hot column, are a gap without a range.
      if (others.count < count || !(others.max > others.min) ||
          std::min(std::fabs(value - others.min), std::fabs(value - others.max)) <
              kGap * (others.max - others.min))
        return;
      facts.far_values.push_back({names.empty() ? "" : names[c], static_cast<std::int64_t>(c),
                                  target, value, count, others.min, others.max});
    };
    add(sums[c].min, columns[c].at_min, columns[c].above_min);
    add(sums[c].max, columns[c].at_max, columns[c].below_max);
  }
}

// ---- sets that differ

// The mean of fewer rows says little.
constexpr std::int64_t kFewestOfASet = 20;
// The distance of the means, in standard deviations of the training set's column.
constexpr double kFarApart = 5;

void find_shift(const Part& part, const Dataset& train, const std::vector<Sums>& of_train,
                DataFacts& facts) {
  if (part.data->size() < kFewestOfASet || train.size() < kFewestOfASet) return;
  const std::vector<Sums> here = sums_of(part.data->inputs);
  double furthest = kFarApart;
  std::optional<std::size_t> found;
  for (std::size_t c = 0; c < std::min(here.size(), of_train.size()); ++c) {
    if (here[c].count == 0 || !(of_train[c].std() > 0)) continue;
    const double distance = std::fabs(here[c].mean() - of_train[c].mean()) / of_train[c].std();
    if (!(distance > furthest)) continue;
    furthest = distance;
    found = c;
  }
  if (found)
    facts.shifts.push_back({std::string(part.name),
                            facts_of(here[*found], train.feature_names, *found),
                            facts_of(of_train[*found], train.feature_names, *found)});
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
  std::vector<Sums> of_train;
  for (const Part& part : parts) {
    if (part.data == &data.train) {
      describe_columns(data.train, facts);
      describe_targets(data.train, facts);
      find_target_leakage(data.train, facts);
      find_telling_column(data.train, facts);
      // What has no name may be a pixel: mostly 0, and seldom anything else.
      if (!data.train.feature_names.empty())
        find_far_values(data.train.inputs, data.train.feature_names, false, facts);
      if (data.train.task == Task::kRegression)
        find_far_values(data.train.targets, data.train.target_names, true, facts);
      of_train = sums_of(data.train.inputs);
      count_classes(data.train, facts);
    }
    if (part.data != &data.train) find_shift(part, data.train, of_train, facts);
    find_non_finite(part, facts);
  }
  find_duplicates(parts, facts);
  return facts;
}

std::string_view set_name(std::string_view part) { return part == "train" ? "training" : part; }

}  // namespace limpid::train
