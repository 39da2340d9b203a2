// The table of all kinds, and the common code of their options.
#include "limpid/data/kinds/detail/data_kind.h"
#include "limpid/core/enum_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/data/synthetic.h"

namespace limpid::detail {
namespace {

[[noreturn]] void fail(const std::string& what) { throw Error(ErrorCode::kParse, what); }

std::vector<DataKind> make_kinds() {
  std::vector<DataKind> kinds{digits_kind()};
  for (const std::string_view name : synthetic_names()) kinds.push_back(synthetic_kind(name));
  for (const auto& kind :
       {idx_kind(), images_kind(), cifar_kind(), csv_kind(), npz_kind(), npy_kind(), text_kind()})
    kinds.push_back(kind);
  return kinds;
}

}  // namespace

const std::vector<DataKind>& data_kinds() {
  static const std::vector<DataKind> kinds = make_kinds();
  return kinds;
}

void refuse(const DataSpec& spec, std::string_view why) {
  fail(fmt::format("data {}: {}", in_quotes(to_text(spec)), why));
}

// ---- options

void check_option(const DataSpec& spec, const DataSpec::Option& option,
                  const std::vector<std::string_view>& known) {
  const auto no = [&](std::string_view why) {
    refuse(spec, fmt::format("{}: {}", option.key, why));
  };
  if (known.empty()) no("unknown option; this data set has none");
  if (std::find(known.begin(), known.end(), option.key) == known.end())
    no(fmt::format("unknown option; expected one of: {}", fmt::join(known, ", ")));
  if (option.value.empty()) no("expected a value after the =");
}

void refuse_option(const DataSpec& spec, const DataSpec::Option& option, const Error& error) {
  refuse(spec, fmt::format("{}: {}", option.key, error.what()));
}

std::uint64_t seed_from_text(std::string_view text) {
  return number_from_text<std::uint64_t>(text, "an integer from 0 to 2^64 - 1");
}

std::uint64_t seed_of(const DataSpec& spec) {
  return spec.value.empty() ? 0 : seed_from_text(spec.value);
}

Scaling scaling_from_text(std::string_view text) {
  return named(text, {Scaling::kNone, Scaling::kZScore, Scaling::kMinMax});
}

Task task_from_text(std::string_view text) {
  return named(text, {Task::kClassification, Task::kMultiLabel, Task::kRegression});
}

std::int64_t count_from_text(std::string_view text) {
  constexpr std::string_view kExpected = "a number of rows from 1 to 2147483647";
  const auto count = number_from_text<std::int32_t>(text, kExpected);
  if (count < 1) fail(fmt::format("expected {}, got {}", kExpected, in_quotes(text)));
  return count;
}

// ---- values

template <class T>
T number_from_text(std::string_view text, std::string_view expected) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size())
    fail(fmt::format("expected {}, got {}", expected, in_quotes(text)));
  return number;
}
template double number_from_text(std::string_view, std::string_view);
template std::int32_t number_from_text(std::string_view, std::string_view);
template std::uint64_t number_from_text(std::string_view, std::string_view);

void refuse_word(std::string_view text, const std::vector<std::string>& words) {
  fail(fmt::format("expected {}, got {}", one_of(words), in_quotes(text)));
}

// ---- the parts

Key split_key(std::uint64_t seed) { return Key(seed).fold_in(2); }

Split with_validation(Split data, const CommonSettings& settings) {
  return limpid::with_validation(std::move(data), settings.split.value_or(kTestIsGiven),
                                 split_key(settings.seed));
}

}  // namespace limpid::detail
