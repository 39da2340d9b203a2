// Data of the kinds "npz" and "npy": NumPy's arrays.
#include "limpid/data/arrays.h"
#include "limpid/data/data_config.h"
#include "limpid/data/kinds/detail/data_kind.h"
#include "limpid/formats/npy.h"

namespace limpid::detail {
namespace {

struct ArraysSettings : CommonSettings {
  std::optional<Task> task = {};
  std::optional<std::string> targets_file = {};  // of npy
  std::optional<ArrayLayout> layout = {};
};

DataOption<ArraysSettings> task_option() {
  return {"task",
          [](ArraysSettings& s, std::string_view value) { s.task = task_from_text(value); }};
}

DataOption<ArraysSettings> layout_option() {
  return {
      "layout", [](ArraysSettings& s, std::string_view value) {
        s.layout = named(value, {ArrayLayout::kNhwc, ArrayLayout::kNchw, ArrayLayout::kFeatures});
      }};
}

ArraysSettings arrays_settings(const DataSpec& spec) {
  if (spec.kind == "npz")
    return settings_of<ArraysSettings>(
        spec, {split_option<ArraysSettings>(), seed_option<ArraysSettings>(),
               standardize_option<ArraysSettings>(), task_option(), layout_option()});
  return settings_of<ArraysSettings>(
      spec,
      {split_option<ArraysSettings>(),
       seed_option<ArraysSettings>(),
       standardize_option<ArraysSettings>(),
       task_option(),
       layout_option(),
       {"targets", [](ArraysSettings& s, std::string_view value) { s.targets_file = value; }}});
}

// All rows as the training part, or the two parts that the arrays have.
Split read_arrays(const DataSpec& spec, const ArraysSettings& s, std::optional<Task> task,
                  Targets targets, ArrayLayout layout) {
  if (spec.kind == "npz")
    return arrays_split(load_npz(spec.value), spec.value, task, targets, Arrays::kConstant, layout);
  if (!s.targets_file && targets == Targets::kRequired)
    refuse(spec, "expected the file of the targets: ,targets=FILE");
  Params arrays{{"x", map_npy(spec.value)}};
  if (s.targets_file) arrays.set("y", map_npy(*s.targets_file));
  return arrays_split(arrays, spec.value, task, targets, Arrays::kConstant, layout);
}

Split load_arrays(const DataSpec& spec, const LoadOptions& options) {
  const ArraysSettings s = arrays_settings(spec);
  Split arrays = read_arrays(spec, s, s.task ? s.task : options.task, Targets::kRequired,
                             s.layout.value_or(ArrayLayout::kAuto));
  if (arrays.test.size() == 0)
    return split_rows(arrays.train, s.split.value_or(kOneTable), split_key(s.seed));
  return with_validation(std::move(arrays), s);
}

// The test part of the arrays or of the spec's split; otherwise all rows.
Dataset load_arrays_rows(const DataSpec& spec, const Model& model, Targets targets, std::int64_t) {
  const ArraysSettings s = arrays_settings(spec);
  const std::optional<DataConfig> config = data_config_of(model);
  std::optional<Task> task = s.task;
  if (!task && config) task = config->task;
  // A model of features, or of another source, takes them in their order.
  const bool pictures = config && config->picture;
  const Split split =
      read_arrays(spec, s, task, targets,
                  s.layout.value_or(pictures ? ArrayLayout::kAuto : ArrayLayout::kFeatures));
  if (split.test.size() > 0) return split.test;
  return s.split ? split_rows(split.train, *s.split, split_key(s.seed)).test : split.train;
}

}  // namespace

DataKind npz_kind() {
  return {.name = "npz",
          .help = "npz:FILE",
          .scaling = Scaling::kZScore,
          .one_table = true,
          .check = [](const DataSpec& spec) { arrays_settings(spec); },
          .load = load_arrays,
          .load_examples = load_arrays_rows};
}

DataKind npy_kind() {
  DataKind kind = npz_kind();
  kind.name = "npy";
  kind.help = "npy:FILE,targets=FILE";
  return kind;
}

}  // namespace limpid::detail
