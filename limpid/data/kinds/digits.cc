// Data of the kind "digits": drawn by a key, as many as the spec asks for.
#include <algorithm>

#include "limpid/data/digits.h"
#include "limpid/data/kinds/detail/data_kind.h"

namespace limpid::detail {
namespace {

struct DigitsSettings : CommonSettings {
  std::optional<std::int64_t> count = {};  // rows of each part
};

DigitsSettings digits_settings(const DataSpec& spec) {
  DigitsSettings result = settings_of<DigitsSettings>(
      spec,
      {split_option<DigitsSettings>(),
       standardize_option<DigitsSettings>(),
       {"count", [](DigitsSettings& s, std::string_view v) { s.count = count_from_text(v); }}});
  result.seed = seed_of(spec);
  return result;
}

constexpr std::int64_t kTrain = 60'000, kTest = 10'000;

Split load_digits(const DataSpec& spec, const LoadOptions& options) {
  const DigitsSettings s = digits_settings(spec);
  return with_validation(
      digits_split(s.seed, s.count.value_or(kTrain), s.count.value_or(kTest), options.between), s);
}

Dataset load_digits_test(const DataSpec& spec, const Model&, Targets, std::int64_t most) {
  const DigitsSettings s = digits_settings(spec);
  // A digit depends only on its index, so digits after the last one needed are not drawn.
  return digits_split(s.seed, 0, std::min(most, s.count.value_or(kTest))).test;
}

}  // namespace

DataKind digits_kind() {
  return {.name = "digits",
          .value = DataKind::Value::kSeed,
          .help = "digits",
          .check = [](const DataSpec& spec) { digits_settings(spec); },
          .load = load_digits,
          .load_examples = load_digits_test};
}

}  // namespace limpid::detail
