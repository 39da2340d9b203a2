// A kind of data, as a record: data_kind_NAME.cc defines it, data_kinds() lists it, and load_data()
// uses it. Depends on load_data.h.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/core/key.h"
#include "limpid/data/load_data.h"

namespace limpid::detail {

struct DataKind {
  // What the value after the colon is.
  enum class Value : std::uint8_t { kSeed, kFile, kFolder };

  std::string_view name;  // "csv"
  Value value = Value::kFile;
  std::string_view help;             // "csv:FILE,target=COLUMN"
  Scaling scaling = Scaling::kNone;  // the default of "standardize"
  bool one_table = false;  // a table whose rows are split, unless it comes with a test set
  // Throws kParse for unknown options and invalid values.
  void (*check)(const DataSpec& spec);
  // As load_data and load_examples; `check` has accepted the spec.
  Split (*load)(const DataSpec& spec, const LoadOptions& options);
  Dataset (*load_examples)(const DataSpec& spec, const Model& model, Targets targets,
                           std::int64_t most);
};

// All kinds, in the order of the help.
const std::vector<DataKind>& data_kinds();

DataKind cifar_kind();
DataKind csv_kind();
DataKind digits_kind();
DataKind idx_kind();
DataKind images_kind();
DataKind npy_kind();
DataKind npz_kind();
DataKind synthetic_kind(std::string_view name);
DataKind text_kind();

// Throws kParse: "data 'csv:a.csv': why".
[[noreturn]] void refuse(const DataSpec& spec, std::string_view why);

// ---- options

// An option of a kind with settings S. set() throws Error for an invalid value.
template <class S>
struct DataOption {
  std::string_view key;
  void (*set)(S& settings, std::string_view value);
};

// Throws kParse, naming the key, if the key is unknown or its value is empty.
void check_option(const DataSpec& spec, const DataSpec::Option& option,
                  const std::vector<std::string_view>& known);
// Throws kParse with the message of an error from an option's set().
[[noreturn]] void refuse_option(const DataSpec& spec, const DataSpec::Option& option,
                                const Error& error);

// The settings from the options of a spec.
template <class S>
S settings_of(const DataSpec& spec, std::initializer_list<DataOption<S>> options) {
  std::vector<std::string_view> known;
  for (const DataOption<S>& option : options) known.push_back(option.key);
  S settings;
  for (const DataSpec::Option& given : spec.options) {
    check_option(spec, given, known);
    const auto option = std::find_if(options.begin(), options.end(),
                                     [&](const auto& o) { return o.key == given.key; });
    try {
      option->set(settings, given.value);
    } catch (const Error& error) {
      refuse_option(spec, given, error);
    }
  }
  return settings;
}

// ---- options of several kinds

// The settings of these options.
struct CommonSettings {
  std::uint64_t seed = 0;  // of generated data, and of the split
  std::optional<SplitRatio> split = {};
};

template <class S>
DataOption<S> split_option() {
  return {"split",
          [](S& settings, std::string_view value) { settings.split = parse_split_ratio(value); }};
}

std::uint64_t seed_from_text(std::string_view text);
template <class S>
DataOption<S> seed_option() {
  return {"seed",
          [](S& settings, std::string_view value) { settings.seed = seed_from_text(value); }};
}

// Only checks the value: scaling_of reads it.
Scaling scaling_from_text(std::string_view text);
template <class S>
DataOption<S> standardize_option() {
  return {"standardize", [](S&, std::string_view value) { scaling_from_text(value); }};
}

Task task_from_text(std::string_view text);
std::int64_t count_from_text(std::string_view text);

// The seed after the colon of generated data; 0 if there is none.
std::uint64_t seed_of(const DataSpec& spec);

// ---- values of options, as text; each throws kParse and states what is expected

template <class T>
T number_from_text(std::string_view text, std::string_view expected);
extern template double number_from_text(std::string_view, std::string_view);
extern template std::int32_t number_from_text(std::string_view, std::string_view);
extern template std::uint64_t number_from_text(std::string_view, std::string_view);

[[noreturn]] void refuse_word(std::string_view text, const std::vector<std::string>& words);

// The value with that name.
template <class T>
T named(std::string_view text, std::initializer_list<T> values) {
  std::vector<std::string> names;
  for (const T value : values) {
    names.emplace_back(name(value));
    if (names.back() == text) return value;
  }
  refuse_word(text, names);
}

// The value of one of several words.
template <class T>
T meaning(std::string_view text, std::initializer_list<std::pair<std::string_view, T>> meanings) {
  std::vector<std::string> words;
  for (const auto& [word, value] : meanings) {
    words.emplace_back(word);
    if (word == text) return value;
  }
  refuse_word(text, words);
}

// ---- the parts

inline constexpr SplitRatio kOneTable{80, 10, 10};
inline constexpr SplitRatio kTestIsGiven{100, 0, 0};

// The key of the split: fold_in(2) of the seed's key, since fold_in(0) and fold_in(1) generate the
// sets of digits and synthetic data.
Key split_key(std::uint64_t seed);

// For data with its own test set: moves the requested validation set out of the training set.
Split with_validation(Split data, const CommonSettings& settings);

}  // namespace limpid::detail
