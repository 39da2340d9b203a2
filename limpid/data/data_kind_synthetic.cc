// Data of the kinds that synthetic.h generates: "xor", "moons", ...
#include "limpid/core/error.h"
#include "limpid/data/detail/data_kind.h"
#include "limpid/data/synthetic.h"

namespace limpid::detail {
namespace {

struct Settings : CommonSettings {
  SyntheticOptions generated = {};
};

void set_noise(Settings& settings, std::string_view text) {
  const auto noise = number_from_text<double>(text, "a number");
  if (!(noise >= 0 && noise <= 1e6))
    throw Error(ErrorCode::kParse, "a noise from 0 to 1e6 is expected");
  settings.generated.noise = noise;
}

Settings settings(const DataSpec& spec) {
  Settings result = settings_of<Settings>(
      spec, {split_option<Settings>(),
             standardize_option<Settings>(),
             {"count", [](Settings& s,
                          std::string_view value) { s.generated.count = count_from_text(value); }},
             {"noise", set_noise}});
  result.seed = seed_of(spec);
  return result;
}

Split load(const DataSpec& spec, const LoadOptions&) {
  const Settings s = settings(spec);
  return with_validation(synthetic_split(spec.kind, s.seed, s.generated), s);
}

Dataset load_test(const DataSpec& spec, const Model&, Targets, std::int64_t) {
  const Settings s = settings(spec);
  return synthetic_split(spec.kind, s.seed, s.generated).test;
}

}  // namespace

DataKind synthetic_kind(std::string_view name) {
  return {.name = name,
          .value = DataKind::Value::kSeed,
          .help = name,
          .check = [](const DataSpec& spec) { settings(spec); },
          .load = load,
          .load_examples = load_test};
}

}  // namespace limpid::detail
