#include "limpid/train/data_facts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <set>
#include <unordered_map>

#include "limpid/core/float_mode.h"

namespace limpid::train {
namespace {

struct Part {
  std::string_view name;
  const Dataset* data;

  std::span<const float> row(std::int64_t i) const {
    const auto width = static_cast<std::size_t>(data->inputs.shape()[1]);
    return data->inputs.values<float>().subspan(static_cast<std::size_t>(i) * width, width);
  }
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

// Of each column of a table, row by row.
std::vector<Sums> sums_of(std::span<const float> values, std::size_t width) {
  std::vector<Sums> columns(width);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::isfinite(values[i])) columns[i % width].add(static_cast<double>(values[i]));
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
  const auto width = static_cast<std::size_t>(train.inputs.shape()[1]);
  const auto values = train.inputs.values<float>();
  const std::vector<Sums> columns = sums_of(values, width);
  Sums all;
  for (const float v : values)
    if (std::isfinite(v)) all.add(static_cast<double>(v));
  if (all.count > 0) {
    facts.min = all.min;
    facts.max = all.max;
  }
  facts.mean = all.mean();
  facts.std = all.std();

  for (std::size_t c = 0; c < width; ++c) {
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
  for (std::int64_t r = 0; r < part.data->size(); ++r) {
    const std::span<const float> row = part.row(r);
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
  const Place* find_or_add(const Part& part, std::int64_t row) {
    const std::span<const float> values = part.row(row);
    const std::uint64_t key = key_of(values);
    const auto [begin, end] = places_.equal_range(key);
    for (auto it = begin; it != end; ++it) {
      const std::span<const float> other = it->second.part->row(it->second.row);
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
    for (std::int64_t r = 0; r < part.data->size(); ++r) {
      const Seen::Place* place = seen.find_or_add(part, r);
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
  const auto width = static_cast<std::size_t>(train.outputs());
  const std::vector<Sums> columns = sums_of(train.targets.values<float>(), width);
  for (std::size_t c = 0; c < std::min(width, kListedFeatures); ++c)
    facts.targets.push_back(facts_of(columns[c], train.target_names, c));
}

// ---- columns that tell the target by themselves

// With fewer rows a column may do so by chance.
constexpr std::int64_t kFewestRows = 20;
constexpr std::int64_t kRowsOfAClass = 10;

// Columns with one value per class. Listed if they, together, separate all classes.
std::vector<std::size_t> columns_by_class(const Dataset& train) {
  const auto width = static_cast<std::size_t>(train.inputs.shape()[1]);
  const auto values = train.inputs.values<float>();
  const auto labels = train.targets.values<std::int32_t>();
  std::vector<std::ptrdiff_t> first(static_cast<std::size_t>(train.classes), -1);  // row of a class
  std::vector<std::size_t> columns(width), seen;                                   // classes seen
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  for (std::size_t r = 0; r < labels.size() && !columns.empty(); ++r) {
    std::ptrdiff_t& row = first[static_cast<std::size_t>(labels[r])];
    if (row < 0) {
      row = static_cast<std::ptrdiff_t>(r);
      seen.push_back(r);
      continue;
    }
    std::erase_if(columns, [&](std::size_t c) {
      return !(values[r * width + c] == values[static_cast<std::size_t>(row) * width + c]);
    });
  }
  std::erase_if(columns, [&](std::size_t c) {
    return std::all_of(seen.begin(), seen.end(), [&](std::size_t r) {
      return values[r * width + c] == values[seen[0] * width + c];
    });
  });
  std::set<std::vector<float>> kinds;
  for (const std::size_t r : seen) {
    std::vector<float> kind;
    for (const std::size_t c : columns) kind.push_back(values[r * width + c]);
    kinds.insert(std::move(kind));
  }
  const bool tell = kinds.size() == seen.size() && seen.size() > 1 &&
                    train.size() >= kRowsOfAClass * static_cast<std::int64_t>(seen.size());
  return tell ? columns : std::vector<std::size_t>();
}

// Columns that are a linear function of the only target, if there are other columns.
std::vector<std::size_t> columns_by_line(const Dataset& train) {
  const auto width = static_cast<std::size_t>(train.inputs.shape()[1]);
  const auto values = train.inputs.values<float>();
  const auto targets = train.targets.values<float>();
  const Sums target = sums_of(targets, 1)[0];
  const std::vector<Sums> columns = sums_of(values, width);
  std::vector<std::size_t> found;
  for (std::size_t c = 0; c < width; ++c) {
    if (!(columns[c].std() > 0) || !(target.std() > 0)) continue;
    double product = 0;
    for (std::size_t r = 0; r < targets.size(); ++r)
      product += (static_cast<double>(values[r * width + c]) - columns[c].mean()) *
                 (static_cast<double>(targets[r]) - target.mean());
    const double correlation =
        product / static_cast<double>(targets.size()) / columns[c].std() / target.std();
    constexpr double kRounding = 1e-6;
    if (std::fabs(correlation) > 1 - kRounding) found.push_back(c);
  }
  return found.size() < width ? found : std::vector<std::size_t>();
}

void find_giveaways(const Dataset& train, DataFacts& facts) {
  std::vector<std::size_t> columns;
  if (train.size() < kFewestRows) return;
  if (train.task == Task::kClassification) columns = columns_by_class(train);
  if (train.task == Task::kRegression && train.outputs() == 1) columns = columns_by_line(train);
  if (columns.empty()) return;
  const std::vector<Sums> sums =
      sums_of(train.inputs.values<float>(), static_cast<std::size_t>(train.inputs.shape()[1]));
  for (std::size_t i = 0; i < std::min(columns.size(), kListedFeatures); ++i)
    facts.giveaways.push_back(facts_of(sums[columns[i]], train.feature_names, columns[i]));
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
      find_giveaways(data.train, facts);
      count_classes(data.train, facts);
    }
    find_non_finite(part, facts);
  }
  find_duplicates(parts, facts);
  return facts;
}

}  // namespace limpid::train
