// Data of the kind "idx": a folder of MNIST's four files.
#include "limpid/data/detail/data_kind.h"

namespace limpid::detail {
namespace {

CommonSettings settings(const DataSpec& spec) {
  return settings_of<CommonSettings>(spec,
                                     {split_option<CommonSettings>(), seed_option<CommonSettings>(),
                                      standardize_option<CommonSettings>()});
}

Split load(const DataSpec& spec, const LoadOptions&) {
  return with_validation(load_idx_folder(spec.value), settings(spec));
}

Dataset load_test(const DataSpec& spec, const Model&, Targets, std::int64_t) {
  return load_idx_folder(spec.value).test;
}

}  // namespace

DataKind idx_kind() {
  return {.name = "idx",
          .value = DataKind::Value::kFolder,
          .help = "idx:DIR (a folder of MNIST's four files)",
          .check = [](const DataSpec& spec) { settings(spec); },
          .load = load,
          .load_examples = load_test};
}

}  // namespace limpid::detail
