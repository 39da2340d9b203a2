#include "limpid/data/load_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/in_quotes.h"
#include "limpid/data/kinds/detail/data_kind.h"
#include "limpid/data/split.h"

namespace limpid {
namespace {

using detail::data_kinds;
using detail::DataKind;
using detail::refuse;

// Where the next option begins: at a comma followed by letters, hyphens and a =; text.size() if
// there is none.
std::size_t find_option(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz-";
  for (std::size_t comma = text.find(','); comma != std::string_view::npos;
       comma = text.find(',', comma + 1)) {
    const std::size_t end = text.find_first_not_of(kLetters, comma + 1);
    if (end != std::string_view::npos && end > comma + 1 && text[end] == '=') return comma;
  }
  return text.size();
}

// The kinds that are generated, and those that are read, in words.
std::vector<std::string> generated_names() {
  std::vector<std::string> names;
  for (const DataKind& kind : data_kinds())
    if (kind.value == DataKind::Value::kSeed) names.emplace_back(kind.name);
  return names;
}

std::vector<std::string> read_names() {
  std::vector<std::string> names;
  for (const DataKind& kind : data_kinds())
    if (kind.value != DataKind::Value::kSeed)
      names.push_back(
          fmt::format("{}:{}", kind.name, kind.value == DataKind::Value::kFile ? "FILE" : "DIR"));
  return names;
}

std::string all_but_last(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names.begin(), names.end() - 1, ", "));
}

const DataKind& kind_of(const DataSpec& spec) {
  for (const DataKind& kind : data_kinds())
    if (kind.name == spec.kind) return kind;
  const std::vector<std::string> read = read_names();
  refuse(spec, fmt::format("expected {}, with or without :SEED, {} or {}",
                           fmt::join(generated_names(), ", "), all_but_last(read), read.back()));
}

// The spec's kind, after checking the whole spec.
const DataKind& checked_kind(const DataSpec& spec) {
  const DataKind& kind = kind_of(spec);
  if (kind.value != DataKind::Value::kSeed && spec.value.empty())
    refuse(spec, fmt::format("expected a {} after {}:",
                             kind.value == DataKind::Value::kFile ? "file" : "folder", kind.name));
  try {
    if (kind.value == DataKind::Value::kSeed) detail::seed_of(spec);
  } catch (const Error& e) {
    refuse(spec, e.what());
  }
  kind.check(spec);
  return kind;
}

}  // namespace

DataSpec parse_data_spec(std::string_view text) {
  std::size_t end = find_option(text);
  const std::string_view source = text.substr(0, end);
  const std::size_t colon = std::min(source.find(':'), source.size());
  DataSpec spec{.kind = std::string(source.substr(0, colon))};
  if (colon < source.size()) spec.value = source.substr(colon + 1);
  for (std::string_view rest = text.substr(end); !rest.empty(); rest.remove_prefix(end)) {
    rest.remove_prefix(1);  // the comma
    end = find_option(rest);
    const std::size_t sign = rest.find('=');
    spec.options.push_back(
        {std::string(rest.substr(0, sign)), std::string(rest.substr(sign + 1, end - sign - 1))});
  }
  const DataKind& kind = checked_kind(spec);
  if (colon + 1 == source.size() && kind.value == DataKind::Value::kSeed)
    refuse(spec, "expected a seed after the colon");
  return spec;
}

std::string to_text(const DataSpec& spec) {
  std::string text = spec.kind;
  if (!spec.value.empty()) text += ":" + spec.value;
  for (const DataSpec::Option& option : spec.options)
    text += fmt::format(",{}={}", option.key, option.value);
  return text;
}

std::string data_spec_help() {
  const std::vector<std::string> generated = generated_names();
  std::vector<std::string> read;
  for (const DataKind& kind : data_kinds())
    if (kind.value != DataKind::Value::kSeed) read.emplace_back(kind.help);
  return fmt::format(
      "Data set: generated ({}; a seed as in digits:7), or read from {}; options follow, as in "
      ",split=80/10/10: docs/data.md",
      fmt::join(generated, ", "), fmt::join(read, ", "));
}

Split load_data(const DataSpec& spec, const LoadOptions& options) {
  const DefaultFloatMode mode;
  return checked_kind(spec).load(spec, options);
}

Split load_data(std::string_view spec, const LoadOptions& options) {
  return load_data(parse_data_spec(spec), options);
}

namespace {

// Pictures of another shape may have as many numbers, and other numbers for the same colours.
void check_pictures(const DataSpec& spec, const PictureShape& given, const PictureShape& taken) {
  const bool same_range = given.white == taken.white || given.white == 0 || taken.white == 0;
  if (given.elements() != taken.elements() || (given.same_shape(taken) && same_range)) return;
  const auto text = [](const PictureShape& shape) {
    return fmt::format("{} x {} x {} with {} as white", shape.channels, shape.height, shape.width,
                       shape.white);
  };
  throw Error(ErrorCode::kShape, fmt::format("data {}: the model takes pictures of {}, got {}",
                                             in_quotes(to_text(spec)), text(taken), text(given)));
}

}  // namespace

Dataset load_examples(const DataSpec& spec, const Model& model, Targets targets,
                      std::int64_t most) {
  const DefaultFloatMode mode;
  Dataset data = checked_kind(spec).load_examples(spec, model, targets, most);
  const std::optional<DataConfig> config = data_config_of(model);
  if (data.picture && config && config->picture)
    check_pictures(spec, *data.picture, *config->picture);
  return data;
}

namespace {

// Splits the rows as training did. Returns nullopt if the rows are not of the training table.
std::optional<Split> parts_of_training(const DataConfig& config, const Dataset& rows) {
  if (!config.split || config.split->rows != rows.size()) return {};
  const auto& [shares, seed, count, hash] = *config.split;
  try {
    Split parts = split_rows(rows, shares, detail::split_key(seed));
    if (record_of(parts, shares, seed) == *config.split) return parts;
  } catch (const Error&) {
    // Shares that are not of this table.
  }
  return {};
}

}  // namespace

HeldOut load_held_out(const DataSpec& spec, const Model& model) {
  HeldOut found{load_examples(spec, model)};
  const std::optional<DataConfig> config = data_config_of(model);
  if (!config) return found;
  std::optional<Split> parts;
  if (names_one_table(spec)) parts = parts_of_training(*config, found.examples);
  if (!parts) {
    found.known = share_of_drawn(config->drawn, found.examples);
    return found;
  }
  found.of = config->split->rows;
  found.part = HeldOut::Part::kTraining;
  if (parts->test.size() > 0) {
    found.part = HeldOut::Part::kTest;
    found.examples = std::move(parts->test);
  } else if (parts->validation.size() > 0) {
    found.part = HeldOut::Part::kValidation;
    found.examples = std::move(parts->validation);
  }
  return found;
}

bool names_one_table(const DataSpec& spec) {
  return kind_of(spec).one_table &&
         std::none_of(spec.options.begin(), spec.options.end(), [](const DataSpec::Option& option) {
           return option.key == "split" || option.key == "test";
         });
}

std::optional<SplitRule> split_rule_of(const DataSpec& spec) {
  if (!checked_kind(spec).one_table) return {};
  std::optional<SplitRatio> shares;
  SplitRule rule{.shares = detail::kOneTable};
  for (const DataSpec::Option& option : spec.options) {
    if (option.key == "test") rule.shares = detail::kTestIsGiven;
    if (option.key == "split") shares = parse_split_ratio(option.value);
    if (option.key == "seed") rule.seed = detail::seed_from_text(option.value);
  }
  rule.shares = shares.value_or(rule.shares);
  return rule;
}

Scaling scaling_of(const DataSpec& spec) {
  Scaling scaling = checked_kind(spec).scaling;
  for (const DataSpec::Option& option : spec.options)
    if (option.key == "standardize") scaling = detail::scaling_from_text(option.value);
  return scaling;
}

}  // namespace limpid
