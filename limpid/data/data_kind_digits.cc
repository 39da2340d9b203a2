// Data of the kind "digits": drawn by a key, as many as the spec asks for.
#include <algorithm>

#include "limpid/data/detail/data_kind.h"
#include "limpid/data/digits.h"

namespace limpid::detail {
namespace {

struct Settings : CommonSettings {
  std::optional<std::int64_t> count = {};  // rows of each part
};

Settings settings(const DataSpec& spec) {
  Settings result = settings_of<Settings>(
      spec, {split_option<Settings>(),
             standardize_option<Settings>(),
             {"count", [](Settings& s, std::string_view v) { s.count = count_from_text(v); }}});
  result.seed = seed_of(spec);
  return result;
}

Split load(const DataSpec& spec, const LoadOptions&) {
  const Settings s = settings(spec);
  return with_validation(s.count ? digits_split(s.seed, *s.count, *s.count) : digits_split(s.seed),
                         s);
}

Dataset load_test(const DataSpec& spec, const Model&, Targets, std::int64_t most) {
  constexpr std::int64_t kUsual = 10'000;
  const Settings s = settings(spec);
  // A digit depends on its number alone: those after the last one wanted need not be drawn.
  return digits_split(s.seed, 0, std::min(most, s.count.value_or(kUsual))).test;
}

}  // namespace

DataKind digits_kind() {
  return {.name = "digits",
          .value = DataKind::Value::kSeed,
          .help = "digits",
          .check = [](const DataSpec& spec) { settings(spec); },
          .load = load,
          .load_examples = load_test};
}

}  // namespace limpid::detail
