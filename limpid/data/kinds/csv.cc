// Data of the kind "csv": tables of numbers and categories.
#include "limpid/data/data_config.h"
#include "limpid/data/kinds/detail/data_kind.h"

namespace limpid::detail {
namespace {

struct CsvSettings : CommonSettings {
  TableOptions table = {};
  std::optional<std::string> test_file = {};
};

CsvSettings csv_settings(const DataSpec& spec) {
  using S = CsvSettings;
  using Text = std::string_view;
  return settings_of<S>(
      spec, {split_option<S>(),
             seed_option<S>(),
             standardize_option<S>(),
             {"target", [](S& s, Text value) { s.table.targets.emplace_back(value); }},
             {"ignore", [](S& s, Text value) { s.table.ignored.emplace_back(value); }},
             {"categorical", [](S& s, Text value) { s.table.categorical.emplace_back(value); }},
             {"task", [](S& s, Text value) { s.table.task = task_from_text(value); }},
             {"missing",
              [](S& s, Text value) {
                s.table.missing = named(value, {Missing::kError, Missing::kDrop, Missing::kImpute});
              }},
             {"unseen",
              [](S& s, Text value) {
                s.table.unseen = named(value, {Unseen::kError, Unseen::kZeros});
              }},
             {"header",
              [](S& s, Text value) {
                s.table.text.header = meaning<bool>(value, {{"yes", true}, {"no", false}});
              }},
             {"separator",
              [](S& s, Text value) {
                s.table.text.separator =
                    meaning<char>(value, {{"comma", ','}, {"semicolon", ';'}, {"tab", '\t'}});
              }},
             {"test", [](S& s, Text value) { s.test_file = value; }}});
}

Split load_csv_split(const DataSpec& spec, const LoadOptions& options) {
  CsvSettings s = csv_settings(spec);
  if (!s.table.task) s.table.task = options.task;
  return load_table(spec.value, s.table, s.split.value_or(s.test_file ? kTestIsGiven : kOneTable),
                    split_key(s.seed), s.test_file);
}

// All rows, or the test part where the spec has one.
Dataset load_csv_rows(const DataSpec& spec, const Model& model, Targets targets, std::int64_t) {
  const CsvSettings s = csv_settings(spec);
  const std::optional<DataConfig> config = data_config_of(model);
  if (!config || !config->table) {
    const Split split = load_table(spec.value, s.table, s.split.value_or(kTestIsGiven),
                                   split_key(s.seed), s.test_file);
    return s.split || s.test_file ? split.test : split.train;
  }
  if (s.test_file) return load_table_rows(*s.test_file, *config->table, targets, s.table.text);
  const Dataset rows = load_table_rows(spec.value, *config->table, targets, s.table.text);
  return s.split ? split_rows(rows, *s.split, split_key(s.seed)).test : rows;
}

}  // namespace

DataKind csv_kind() {
  return {.name = "csv",
          .help = "csv:FILE,target=COLUMN",
          .scaling = Scaling::kZScore,
          .one_table = true,
          .check = [](const DataSpec& spec) { csv_settings(spec); },
          .load = load_csv_split,
          .load_examples = load_csv_rows};
}

}  // namespace limpid::detail
