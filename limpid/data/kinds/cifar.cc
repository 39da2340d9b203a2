// Data of the kind "cifar": a folder of CIFAR's binary files.
#include "limpid/data/pictures/cifar.h"

#include "limpid/data/kinds/detail/data_kind.h"

namespace limpid::detail {
namespace {

struct CifarSettings : CommonSettings {
  CifarLabels labels = CifarLabels::kFine;
};

CifarSettings cifar_settings(const DataSpec& spec) {
  using S = CifarSettings;
  return settings_of<S>(spec,
                        {split_option<S>(),
                         seed_option<S>(),
                         standardize_option<S>(),
                         {"labels", [](S& s, std::string_view value) {
                            s.labels = named(value, {CifarLabels::kFine, CifarLabels::kCoarse});
                          }}});
}

Split load_cifar_split(const DataSpec& spec, const LoadOptions&) {
  const CifarSettings s = cifar_settings(spec);
  return with_validation(load_cifar(spec.value, s.labels), s);
}

Dataset load_cifar_test(const DataSpec& spec, const Model&, Targets, std::int64_t) {
  return load_cifar(spec.value, cifar_settings(spec).labels).test;
}

}  // namespace

DataKind cifar_kind() {
  return {.name = "cifar",
          .value = DataKind::Value::kFolder,
          .help = "cifar:DIR (a folder of CIFAR's binary files)",
          .check = [](const DataSpec& spec) { cifar_settings(spec); },
          .load = load_cifar_split,
          .load_examples = load_cifar_test};
}

}  // namespace limpid::detail
