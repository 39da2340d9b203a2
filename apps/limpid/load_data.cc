// What data_spec.h says that is in the data.
#include <algorithm>

#include "apps/limpid/data_spec.h"
#include "limpid/data/data_config.h"
#include "limpid/data/digits.h"

namespace limpid::tool {
namespace {

using Kind = DataSpec::Kind;

// Of digits and of what is drawn, 0 and 1 are those of the parts.
Key split_key(const DataSpec& spec) { return Key(spec.seed).fold_in(2); }

constexpr Shares kOneTable{80, 10, 10};
constexpr Shares kTestIsGiven{100, 0, 0};

Split load_digits(const DataSpec& spec) {
  if (!spec.drawn.count) return digits_split(spec.seed);
  return digits_split(spec.seed, *spec.drawn.count, *spec.drawn.count);
}

// All rows of a table, or the test part where the spec splits it.
Dataset load_table_examples(const DataSpec& spec, const Model& model, Targets targets) {
  const std::optional<DataConfig> config = data_config_of(model);
  if (!config || !config->table) {
    const Split split = load_table(spec.value, spec.table, spec.split.value_or(kTestIsGiven),
                                   split_key(spec), spec.test_file);
    return spec.split || spec.test_file ? split.test : split.train;
  }
  if (spec.test_file)
    return load_table_rows(*spec.test_file, *config->table, targets, spec.table.text);
  const Dataset rows = load_table_rows(spec.value, *config->table, targets, spec.table.text);
  return spec.split ? split_rows(rows, *spec.split, split_key(spec)).test : rows;
}

}  // namespace

Split load_data(const DataSpec& spec) {
  if (spec.kind == Kind::kCsv)
    return load_table(spec.value, spec.table,
                      spec.split.value_or(spec.test_file ? kTestIsGiven : kOneTable),
                      split_key(spec), spec.test_file);
  Split split = spec.kind == Kind::kDigits      ? load_digits(spec)
                : spec.kind == Kind::kSynthetic ? synthetic_split(spec.value, spec.seed, spec.drawn)
                                                : load_idx_folder(spec.value);
  return with_validation(std::move(split), spec.split.value_or(kTestIsGiven), split_key(spec));
}

Dataset load_examples(const DataSpec& spec, const Model& model, Targets targets,
                      std::int64_t most) {
  if (spec.kind == Kind::kCsv) return load_table_examples(spec, model, targets);
  if (spec.kind == Kind::kIdx) return load_idx_folder(spec.value).test;
  if (spec.kind == Kind::kSynthetic) return synthetic_split(spec.value, spec.seed, spec.drawn).test;
  constexpr std::int64_t kDigits = 10'000;
  // A digit depends on its number alone: those behind the last one wanted need not be drawn.
  return digits_split(spec.seed, 0, std::min(most, spec.drawn.count.value_or(kDigits))).test;
}

}  // namespace limpid::tool
