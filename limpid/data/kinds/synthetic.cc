// Data of the kinds that synthetic.h generates: "xor", "moons", ...
#include "limpid/data/synthetic.h"
#include "limpid/core/error.h"
#include "limpid/data/kinds/detail/data_kind.h"

namespace limpid::detail {
namespace {

struct SyntheticSettings : CommonSettings {
  SyntheticOptions generated = {};
};

void set_noise(SyntheticSettings& settings, std::string_view text) {
  const auto noise = number_from_text<double>(text, "a number");
  if (!(noise >= 0 && noise <= 1e6))
    throw Error(ErrorCode::kParse, "expected a standard deviation from 0 to 1e6");
  settings.generated.noise = noise;
}

SyntheticSettings synthetic_settings(const DataSpec& spec) {
  SyntheticSettings result = settings_of<SyntheticSettings>(
      spec, {split_option<SyntheticSettings>(),
             standardize_option<SyntheticSettings>(),
             {"count", [](SyntheticSettings& s,
                          std::string_view value) { s.generated.count = count_from_text(value); }},
             {"noise", set_noise}});
  result.seed = seed_of(spec);
  return result;
}

Split load_synthetic(const DataSpec& spec, const LoadOptions&) {
  const SyntheticSettings s = synthetic_settings(spec);
  return with_validation(synthetic_split(spec.kind, s.seed, s.generated), s);
}

Dataset load_synthetic_test(const DataSpec& spec, const Model&, Targets, std::int64_t) {
  const SyntheticSettings s = synthetic_settings(spec);
  return synthetic_split(spec.kind, s.seed, s.generated).test;
}

}  // namespace

DataKind synthetic_kind(std::string_view name) {
  return {.name = name,
          .value = DataKind::Value::kSeed,
          .help = name,
          .check = [](const DataSpec& spec) { synthetic_settings(spec); },
          .load = load_synthetic,
          .load_examples = load_synthetic_test};
}

}  // namespace limpid::detail
