// A kind of data, as a record: one file data_kind_NAME.cc makes it, one line of data_kinds() lists
// it, and load_data.h serves it. Leans on load_data.h.
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
  // What follows the colon.
  enum class Value : std::uint8_t { kSeed, kFile, kFolder };

  std::string_view name;  // "csv"
  Value value = Value::kFile;
  std::string_view help;             // "csv:FILE,target=COLUMN"
  Scaling scaling = Scaling::kNone;  // unless the spec says another one
  bool one_table = false;            // whose rows are split, unless a test set comes with them
  // Throws kParse for options that the kind does not have, or values that they do not take.
  void (*check)(const DataSpec& spec);
  // As load_data and load_examples; the spec has passed the check.
  Split (*load)(const DataSpec& spec, const LoadOptions& options);
  Dataset (*load_examples)(const DataSpec& spec, const Model& model, Targets targets,
                           std::int64_t most);
};

// All of them, in the order of the help.
const std::vector<DataKind>& data_kinds();

DataKind csv_kind();
DataKind digits_kind();
DataKind idx_kind();
DataKind npy_kind();
DataKind npz_kind();
DataKind synthetic_kind(std::string_view name);
DataKind text_kind();

// Throws kParse: "data 'csv:a.csv': why".
[[noreturn]] void refuse(const DataSpec& spec, std::string_view why);

// ---- options

// An option of a kind whose settings are an S; set() throws Error for values that it does not take.
template <class S>
struct DataOption {
  std::string_view key;
  void (*set)(S& settings, std::string_view value);
};

// Throws kParse, naming the key: there is no such one, or its value is empty.
void check_option(const DataSpec& spec, const DataSpec::Option& option,
                  const std::vector<std::string_view>& known);
// Throws kParse with what an option's set() threw.
[[noreturn]] void refuse_option(const DataSpec& spec, const DataSpec::Option& option,
                                const Error& error);

// The settings that the options of a spec make.
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

// ---- options that several kinds have

// What of them is kept.
struct CommonSettings {
  std::uint64_t seed = 0;  // of what is generated, and of the split
  std::optional<Shares> split = {};
};

template <class S>
DataOption<S> split_option() {
  return {"split",
          [](S& settings, std::string_view value) { settings.split = parse_shares(value); }};
}

std::uint64_t seed_from_text(std::string_view text);
template <class S>
DataOption<S> seed_option() {
  return {"seed",
          [](S& settings, std::string_view value) { settings.seed = seed_from_text(value); }};
}

// Checks the value alone: scaling_of reads it.
Scaling scaling_from_text(std::string_view text);
template <class S>
DataOption<S> standardize_option() {
  return {"standardize", [](S&, std::string_view value) { scaling_from_text(value); }};
}

Task task_from_text(std::string_view text);
std::int64_t count_from_text(std::string_view text);

// The seed after the colon of what is generated; 0 where there is none.
std::uint64_t seed_of(const DataSpec& spec);

// ---- values of options, as text; each throws kParse, saying what is expected

template <class T>
T number_from_text(std::string_view text, std::string_view expected);
extern template double number_from_text(std::string_view, std::string_view);
extern template std::int32_t number_from_text(std::string_view, std::string_view);
extern template std::uint64_t number_from_text(std::string_view, std::string_view);

[[noreturn]] void refuse_word(std::string_view text, const std::vector<std::string_view>& words);

// The value that has that name.
template <class T>
T named(std::string_view text, std::initializer_list<T> values) {
  std::vector<std::string_view> names;
  for (const T value : values) {
    names.push_back(name(value));
    if (names.back() == text) return value;
  }
  refuse_word(text, names);
}

// What one of several words means.
template <class T>
T meaning(std::string_view text, std::initializer_list<std::pair<std::string_view, T>> meanings) {
  std::vector<std::string_view> words;
  for (const auto& [word, value] : meanings) {
    words.push_back(word);
    if (word == text) return value;
  }
  refuse_word(text, words);
}

// ---- the parts

inline constexpr Shares kOneTable{80, 10, 10};
inline constexpr Shares kTestIsGiven{100, 0, 0};

// Of digits and synthetic data, 0 and 1 are the keys of the parts.
Key split_key(std::uint64_t seed);

// A data set that has its test part: the validation part that the settings ask for taken out of
// the training part.
Split with_validation(Split data, const CommonSettings& settings);

}  // namespace limpid::detail
