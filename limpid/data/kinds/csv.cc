// Data of the kind "csv": tables of numbers and categories.
#include "limpid/data/data_config.h"
#include "limpid/data/kinds/detail/data_kind.h"

namespace limpid::detail {
namespace {

struct CsvSettings : CommonSettings {
  TableOptions table = {};
  std::optional<Missing> missing = {};
  std::optional<Unseen> unseen = {};
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
             {"date", [](S& s, Text value) { s.table.dates.emplace_back(value); }},
             {"id", [](S& s, Text value) { s.table.ids.emplace_back(value); }},
             {"task", [](S& s, Text value) { s.table.task = task_from_text(value); }},
             {"missing",
              [](S& s, Text value) {
                s.missing = named(value, {Missing::kError, Missing::kDrop, Missing::kImpute});
              }},
             {"missing-values", [](S& s, Text value) { s.table.text.missing.emplace_back(value); }},
             {"unseen",
              [](S& s, Text value) {
                s.unseen = named(value, {Unseen::kError, Unseen::kZeros});
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

Split load(const DataSpec& spec, const CsvSettings& s, const SplitRatio& otherwise) {
  TableOptions options = s.table;
  options.missing = s.missing.value_or(Missing::kError);
  options.unseen = s.unseen.value_or(Unseen::kError);
  return load_table(spec.value, options, s.split.value_or(otherwise), split_key(s.seed),
                    s.test_file);
}

Split load_csv_split(const DataSpec& spec, const LoadOptions& options) {
  CsvSettings s = csv_settings(spec);
  if (!s.table.task) s.table.task = options.task;
  return load(spec, s, s.test_file ? kTestIsGiven : kOneTable);
}

// All rows, or the test part where the spec has one.
Dataset load_csv_rows(const DataSpec& spec, const Model& model, Targets targets, std::int64_t) {
  const CsvSettings s = csv_settings(spec);
  const std::optional<DataConfig> config = data_config_of(model);
  if (!config || !config->table) {
    const Split split = load(spec, s, kTestIsGiven);
    return s.split || s.test_file ? split.test : split.train;
  }
  RowsOptions options{.text = s.table.text, .missing = s.missing, .unseen = s.unseen};
  if (!s.table.ids.empty()) options.id_column = s.table.ids.back();
  if (s.test_file) return load_table_rows(*s.test_file, *config->table, targets, options);
  const Dataset rows = load_table_rows(spec.value, *config->table, targets, options);
  if (!s.split) return rows;
  Dataset test = split_rows(rows, *s.split, split_key(s.seed)).test;
  test.rows_of_table->left_out.clear();  // they are of no part
  return test;
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
