// What data_spec.h says that is in the data.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "apps/limpid/command.h"
#include "apps/limpid/data_spec.h"
#include "limpid/core/error.h"
#include "limpid/data/arrays.h"
#include "limpid/data/data_config.h"
#include "limpid/data/digits.h"
#include "limpid/data/text_windows.h"
#include "limpid/formats/npy.h"

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

// The arrays of NumPy's files, all rows as the training part or with the test part that they bring.
Split load_arrays(const DataSpec& spec, std::optional<Task> task, Targets targets) {
  if (spec.kind == Kind::kNpz) return arrays_split(load_npz(spec.value), spec.value, task, targets);
  if (!spec.targets_file && targets == Targets::kRequired)
    throw UsageError(fmt::format("--data npy:{}: the file of the targets is missing: ,targets=FILE",
                                 spec.value));
  Params arrays{{"x", load_npy(spec.value)}};
  if (spec.targets_file) arrays.set("y", load_npy(*spec.targets_file));
  return arrays_split(arrays, spec.value, task, targets);
}

// The test part that arrays bring or the spec splits off, or all rows.
Dataset load_array_examples(const DataSpec& spec, const Model& model, Targets targets) {
  const std::optional<DataConfig> config = data_config_of(model);
  std::optional<Task> task = spec.table.task;
  if (!task && config) task = config->task;
  const Split split = load_arrays(spec, task, targets);
  if (split.test.size() > 0) return split.test;
  return spec.split ? split_rows(split.train, *spec.split, split_key(spec)).test : split.train;
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

// Windows of the last tenth, in the tokens that the model was trained on: as many of them as it
// takes, with as many targets as it has logits for.
Dataset load_text_examples(const DataSpec& spec, const Model& model) {
  const std::optional<DataConfig> config = data_config_of(model);
  const std::optional<Tokenizer> tokenizer = config ? tokenizer_of(*config) : std::nullopt;
  if (!tokenizer)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("--data text:{}: the model was not trained on a text", spec.value));
  const Type& logits = model.function.type(model.function.outputs().front().value);
  Dataset data =
      load_test_windows(spec.value, *tokenizer,
                        {data_input(model).type.shape.elements(), logits.shape.rank() == 2, ""});
  data.class_names = config->class_names;
  return data;
}

}  // namespace

Split load_data(const DataSpec& spec, const WindowOptions& text) {
  if (spec.kind == Kind::kText) return load_text_windows(spec.value, text);
  if (spec.kind == Kind::kCsv)
    return load_table(spec.value, spec.table,
                      spec.split.value_or(spec.test_file ? kTestIsGiven : kOneTable),
                      split_key(spec), spec.test_file);
  if (spec.kind == Kind::kNpz || spec.kind == Kind::kNpy) {
    Split arrays = load_arrays(spec, spec.table.task, Targets::kRequired);
    if (arrays.test.size() == 0)
      return split_rows(arrays.train, spec.split.value_or(kOneTable), split_key(spec));
    return with_validation(std::move(arrays), spec.split.value_or(kTestIsGiven), split_key(spec));
  }
  Split split = spec.kind == Kind::kDigits      ? load_digits(spec)
                : spec.kind == Kind::kSynthetic ? synthetic_split(spec.value, spec.seed, spec.drawn)
                                                : load_idx_folder(spec.value);
  return with_validation(std::move(split), spec.split.value_or(kTestIsGiven), split_key(spec));
}

Dataset load_examples(const DataSpec& spec, const Model& model, Targets targets,
                      std::int64_t most) {
  if (spec.kind == Kind::kCsv) return load_table_examples(spec, model, targets);
  if (spec.kind == Kind::kNpz || spec.kind == Kind::kNpy)
    return load_array_examples(spec, model, targets);
  if (spec.kind == Kind::kText) return load_text_examples(spec, model);
  if (spec.kind == Kind::kIdx) return load_idx_folder(spec.value).test;
  if (spec.kind == Kind::kSynthetic) return synthetic_split(spec.value, spec.seed, spec.drawn).test;
  constexpr std::int64_t kDigits = 10'000;
  // A digit depends on its number alone: those behind the last one wanted need not be drawn.
  return digits_split(spec.seed, 0, std::min(most, spec.drawn.count.value_or(kDigits))).test;
}

}  // namespace limpid::tool
