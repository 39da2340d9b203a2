// Data of the kind "idx": a folder of MNIST's four files.
#include "limpid/data/kinds/detail/data_kind.h"

namespace limpid::detail {
namespace {

CommonSettings idx_settings(const DataSpec& spec) {
  return settings_of<CommonSettings>(spec,
                                     {split_option<CommonSettings>(), seed_option<CommonSettings>(),
                                      standardize_option<CommonSettings>()});
}

Split load_idx(const DataSpec& spec, const LoadOptions&) {
  return with_validation(load_idx_folder(spec.value), idx_settings(spec));
}

Dataset load_idx_test(const DataSpec& spec, const Model&, Targets, std::int64_t) {
  return load_idx_folder(spec.value).test;
}

}  // namespace

DataKind idx_kind() {
  return {.name = "idx",
          .value = DataKind::Value::kFolder,
          .help = "idx:DIR (a folder of MNIST's four files)",
          .check = [](const DataSpec& spec) { idx_settings(spec); },
          .load = load_idx,
          .load_examples = load_idx_test};
}

}  // namespace limpid::detail
