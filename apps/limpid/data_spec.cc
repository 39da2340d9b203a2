#include "apps/limpid/data_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "apps/limpid/command.h"
#include "limpid/core/error.h"
#include "limpid/formats/in_quotes.h"

namespace limpid::tool {
namespace {

using Kind = DataSpec::Kind;

// The text of an option that does not mean anything; the caller says which option it was.
struct Refusal {
  std::string why;
};

template <class T>
T number_of(std::string_view text, std::string_view expected) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size())
    throw Refusal{fmt::format("{} is expected, {} came", expected, in_quotes(text))};
  return number;
}

std::uint64_t seed_of(std::string_view text) {
  return number_of<std::uint64_t>(text, "an integer from 0 to 2^64 - 1");
}

// The value of that name.
template <class T>
T named(std::string_view text, std::initializer_list<T> values) {
  std::vector<std::string_view> names;
  for (const T value : values) {
    names.push_back(name(value));
    if (names.back() == text) return value;
  }
  throw Refusal{
      fmt::format("one of {} is expected, {} came", fmt::join(names, ", "), in_quotes(text))};
}

// One of several words.
template <class T>
T word_of(std::string_view text, std::initializer_list<std::pair<std::string_view, T>> meanings) {
  std::vector<std::string_view> words;
  for (const auto& [word, meaning] : meanings) {
    words.push_back(word);
    if (word == text) return meaning;
  }
  throw Refusal{
      fmt::format("one of {} is expected, {} came", fmt::join(words, ", "), in_quotes(text))};
}

// ---- options

struct Option {
  std::string_view key;
  std::vector<Kind> kinds;  // that have it
  void (*set)(DataSpec& spec, std::string_view value);
};

const std::vector<Option>& all_options() {
  static const std::vector<Option> all = {
      {"split",
       {Kind::kDigits, Kind::kSynthetic, Kind::kIdx, Kind::kCsv, Kind::kNpz, Kind::kNpy},
       [](DataSpec& spec, std::string_view value) { spec.split = parse_shares(value); }},
      {"seed",
       {Kind::kIdx, Kind::kCsv, Kind::kNpz, Kind::kNpy},
       [](DataSpec& spec, std::string_view value) { spec.seed = seed_of(value); }},
      {"standardize",
       {Kind::kDigits, Kind::kSynthetic, Kind::kIdx, Kind::kCsv, Kind::kNpz, Kind::kNpy},
       [](DataSpec& spec, std::string_view value) {
         spec.scaling = named(value, {Scaling::kNone, Scaling::kZScore, Scaling::kMinMax});
       }},
      {"count",
       {Kind::kDigits, Kind::kSynthetic},
       [](DataSpec& spec, std::string_view value) {
         spec.drawn.count = number_of<std::int32_t>(value, "a number of rows");
         if (*spec.drawn.count < 1) throw Refusal{"at least 1 row is expected"};
       }},
      {"noise",
       {Kind::kSynthetic},
       [](DataSpec& spec, std::string_view value) {
         spec.drawn.noise = number_of<double>(value, "a number");
         if (!(*spec.drawn.noise >= 0 && *spec.drawn.noise <= 1e6))
           throw Refusal{"a noise from 0 to 1e6 is expected"};
       }},
      {"target",
       {Kind::kCsv},
       [](DataSpec& spec, std::string_view value) { spec.table.targets.emplace_back(value); }},
      {"ignore",
       {Kind::kCsv},
       [](DataSpec& spec, std::string_view value) { spec.table.ignored.emplace_back(value); }},
      {"categorical",
       {Kind::kCsv},
       [](DataSpec& spec, std::string_view value) { spec.table.categorical.emplace_back(value); }},
      {"task",
       {Kind::kCsv, Kind::kNpz, Kind::kNpy},
       [](DataSpec& spec, std::string_view value) {
         spec.table.task =
             named(value, {Task::kClassification, Task::kMultiLabel, Task::kRegression});
       }},
      {"missing",
       {Kind::kCsv},
       [](DataSpec& spec, std::string_view value) {
         spec.table.missing = named(value, {Missing::kError, Missing::kDrop, Missing::kImpute});
       }},
      {"unseen",
       {Kind::kCsv},
       [](DataSpec& spec, std::string_view value) {
         spec.table.unseen = named(value, {Unseen::kError, Unseen::kZeros});
       }},
      {"header",
       {Kind::kCsv},
       [](DataSpec& spec, std::string_view value) {
         spec.table.text.header = word_of<bool>(value, {{"yes", true}, {"no", false}});
       }},
      {"separator",
       {Kind::kCsv},
       [](DataSpec& spec, std::string_view value) {
         spec.table.text.separator =
             word_of<char>(value, {{"comma", ','}, {"semicolon", ';'}, {"tab", '\t'}});
       }},
      {"test",
       {Kind::kCsv},
       [](DataSpec& spec, std::string_view value) { spec.test_file = value; }},
      {"targets",
       {Kind::kNpy},
       [](DataSpec& spec, std::string_view value) { spec.targets_file = value; }},
  };
  return all;
}

bool has(const Option& option, Kind kind) {
  return std::find(option.kinds.begin(), option.kinds.end(), kind) != option.kinds.end();
}

void set_option(DataSpec& spec, std::string_view key, std::string_view value) {
  std::vector<std::string_view> known;
  for (const Option& option : all_options()) {
    if (!has(option, spec.kind)) continue;
    known.push_back(option.key);
    if (option.key != key) continue;
    if (value.empty()) throw Refusal{"something is expected behind the ="};
    return option.set(spec, value);
  }
  if (known.empty()) throw Refusal{"there is no such option; there are none"};
  throw Refusal{fmt::format("there is no such option; there are: {}", fmt::join(known, ", "))};
}

// ---- the text

// Where an option begins, at a comma that letters and a = follow; text.size() where none does.
std::size_t find_option(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  for (std::size_t comma = text.find(','); comma != std::string_view::npos;
       comma = text.find(',', comma + 1)) {
    const std::size_t end = text.find_first_not_of(kLetters, comma + 1);
    if (end != std::string_view::npos && end > comma + 1 && text[end] == '=') return comma;
  }
  return text.size();
}

// Sets kind, value and seed. Throws Refusal where there is no such kind.
void set_kind(DataSpec& spec, std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const bool has_value = colon != std::string_view::npos;
  const std::string_view value = has_value ? text.substr(colon + 1) : std::string_view();
  const std::vector<std::string_view> drawn = synthetic_names();
  const bool is_drawn = std::find(drawn.begin(), drawn.end(), kind) != drawn.end();
  if (kind == "digits" || is_drawn) {
    spec.kind = is_drawn ? Kind::kSynthetic : Kind::kDigits;
    spec.value = kind;
    if (has_value) spec.seed = seed_of(value);
    return;
  }
  constexpr std::pair<std::string_view, Kind> kFiles[] = {{"idx", Kind::kIdx},
                                                          {"csv", Kind::kCsv},
                                                          {"npz", Kind::kNpz},
                                                          {"npy", Kind::kNpy},
                                                          {"text", Kind::kText}};
  const auto found = std::find_if(std::begin(kFiles), std::end(kFiles),
                                  [&](const auto& file) { return file.first == kind; });
  if (found == std::end(kFiles))
    throw Refusal{fmt::format(
        "expected digits, {}, with or without :SEED, idx:DIR, csv:FILE, npz:FILE, npy:FILE or "
        "text:FILE",
        fmt::join(drawn, ", "))};
  spec.kind = found->second;
  spec.value = value;
  if (value.empty())
    throw Refusal{fmt::format("a {} belongs behind {}:", kind == "idx" ? "folder" : "file", kind)};
}

}  // namespace

const std::string kDataSpecHelp = fmt::format(
    "Examples: digits or {}, drawn here (with :SEED), idx:DIR (a folder of MNIST's four "
    "files), csv:FILE,target=COLUMN, npz:FILE, npy:FILE,targets=FILE, text:FILE; options follow as "
    "in "
    ",split=80/10/10: docs/data.md",
    fmt::join(synthetic_names(), ", "));

DataSpec parse_data_spec(std::string_view text) {
  DataSpec spec;
  std::string where;
  try {
    std::size_t end = find_option(text);
    set_kind(spec, text.substr(0, end));
    for (std::string_view rest = text.substr(end); !rest.empty(); rest.remove_prefix(end)) {
      rest.remove_prefix(1);  // the comma
      end = find_option(rest);
      const std::string_view option = rest.substr(0, end);
      const std::size_t sign = option.find('=');
      where = fmt::format("{}: ", option.substr(0, sign));
      set_option(spec, option.substr(0, sign), option.substr(sign + 1));
    }
    return spec;
  } catch (const Refusal& refusal) {
    throw UsageError(fmt::format("--data {}: {}{}", in_quotes(text), where, refusal.why));
  } catch (const Error& error) {
    throw UsageError(fmt::format("--data {}: {}{}", in_quotes(text), where, error.what()));
  }
}

Scaling scaling_of(const DataSpec& spec) {
  const bool numbers =
      spec.kind == Kind::kCsv || spec.kind == Kind::kNpz || spec.kind == Kind::kNpy;
  return spec.scaling.value_or(numbers ? Scaling::kZScore : Scaling::kNone);
}

}  // namespace limpid::tool
