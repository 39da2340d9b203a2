#include "apps/limpid/support/examples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include "apps/limpid/support/column_names.h"
#include "apps/limpid/support/command.h"
#include "apps/limpid/support/data_spec.h"
#include "apps/limpid/support/output.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/number_text.h"
#include "limpid/data/picture.h"
#include "limpid/data/pictures/picture_example.h"
#include "limpid/inspect/table.h"
#include "limpid/models/prompt.h"

namespace limpid::tool {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

float parse_number(std::string_view text) {
  text = trimmed(text);
  float number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size())
    throw UsageError(fmt::format("--values: {} is not an f32 number", in_quotes(text)));
  return number;
}

std::vector<float> parse_numbers(std::string_view text) {
  std::vector<float> numbers;
  for (;;) {
    const std::size_t comma = text.find(',');
    numbers.push_back(parse_number(text.substr(0, comma)));
    if (comma == std::string_view::npos) return numbers;
    text.remove_prefix(comma + 1);
  }
}

// ": weight, colour=grey": the features by name, as far as they have names, and a line has room.
std::string list_of(std::vector<std::string> features) {
  constexpr std::size_t kShown = 12;
  if (features.empty()) return {};
  const bool cut = features.size() > kShown;
  if (cut) features.resize(kShown);
  for (std::string& name : features) name = printable(name);
  return fmt::format(": {}{}", fmt::join(features, ", "), cut ? ", ..." : "");
}

// Numbers as f32, token ids as i32.
Tensor example_of_numbers(const std::vector<float>& numbers, const Model& model) {
  const Input& input = data_input(model);
  const bool tokens = input.type.dtype == Dtype::kI32;
  if (!tokens && input.type.dtype != Dtype::kF32)
    throw Error(ErrorCode::kDtype, fmt::format("the model takes {} as {}, expected f32 or i32",
                                               to_string(input.type), in_quotes(input.name)));
  const std::int64_t expected = input.type.shape.elements();
  if (static_cast<std::int64_t>(numbers.size()) != expected)
    throw UsageError(fmt::format("--values: expected {} ({}{}), got {}",
                                 counted(expected, "number"), to_string(input.type),
                                 list_of(feature_names(model)), numbers.size()));
  const Shape shape = input.type.shape.insert(0, 1);
  if (!tokens) return Tensor::from<float>(shape, numbers);
  constexpr float kEnd = 1 << 24;  // the next integer is this number as f32, too
  std::vector<std::int32_t> integers;
  for (const float number : numbers) {
    if (!(std::fabs(number) < kEnd) || number != std::trunc(number))
      throw UsageError(fmt::format("--values: {} is not a token index", number));
    integers.push_back(static_cast<std::int32_t>(number));
  }
  return Tensor::from<std::int32_t>(shape, integers);
}

void check_rows(std::int64_t first, std::int64_t count, std::int64_t size) {
  if (first > size - count)
    throw UsageError(fmt::format("--data: expected {} from index {}, got {}, indices 0 to {}",
                                 counted(count, "example"), first, counted(size, "example"),
                                 size - 1));
}

// The text of the tokens of an example, up to the end of the data's text.
std::string text_of(const Dataset& data, std::int64_t row) {
  const Tensor example = data.inputs_of(row, 1);
  const auto tokens = example.values<std::int32_t>();
  const bool cut = data.target_type().shape.rank() == 1;
  const auto length = cut ? static_cast<std::size_t>(data.counted(row)) : tokens.size();
  return in_quotes(data.tokenizer->decode(tokens.first(length)));
}

// Rows [first, first + count) of a whole table of which some are left out; without a count, the
// rest.
Dataset rows_of_whole(const Dataset& data, std::int64_t first, std::optional<std::int64_t> count) {
  const TableRows& table = *data.rows_of_table;
  const std::int64_t all = table.whole();
  check_rows(first, count.value_or(1), all);
  const std::int64_t end = count ? first + *count : all;
  const auto& rows = table.of_example;
  const auto from = std::lower_bound(rows.begin(), rows.end(), first);
  const auto to = std::lower_bound(from, rows.end(), end);
  Dataset part = data.rows(from - rows.begin(), to - from);
  auto& left_out = part.rows_of_table->left_out;
  left_out.erase(
      std::remove_if(left_out.begin(), left_out.end(),
                     [&](const LeftOut& out) { return out.row < first || out.row >= end; }),
      left_out.end());
  if (part.size() == 0)
    throw Error(ErrorCode::kFormat,
                fmt::format("{}: row {} is no example: {}", printable(data.name),
                            left_out.front().row, left_out.front().why));
  return part;
}

// The examples of the data set that the options select.
Dataset rows_of_data(const ExampleOptions& options, const Model& model) {
  const DataSpec spec = parse_data_option(options.data);
  const std::int64_t first = options.index;
  const bool all = !options.count && options.all_data;
  const std::int64_t least = first + options.count.value_or(1);
  const Dataset data = load_examples(spec, model, Targets::kIfPresent, all ? kMostExamples : least);
  const bool rest = all || (!options.count && (data.table || data.rows_of_table));
  if (data.rows_of_table && data.rows_of_table->whole() > data.size())
    return rows_of_whole(data, first,
                         rest ? std::nullopt : std::optional(options.count.value_or(1)));
  const std::int64_t count = rest ? std::max<std::int64_t>(1, data.size() - first) : least - first;
  check_rows(first, count, data.size());
  return data.rows(first, count);
}

}  // namespace

void add_example_options(Command& command, ExampleOptions& options) {
  const Option data = command.option("--data", options.data, data_spec_help()).type("SPEC");
  command.option("--index", options.index, "Index of the first example of --data, from 0")
      .needs(data)
      .check(within(0, kMostExamples))
      .type("I");
  const Option values =
      command.option("--values", options.values, "Numbers of one example, such as \"1.5,-0.7\"")
          .excludes(data)
          .type("NUMBERS");
  const Option picture =
      command
          .option("--picture", options.picture,
                  "PNG or JPEG file of one example, for a model of pictures: brought to their size")
          .excludes(data)
          .excludes(values)
          .path("FILE");
  command.option("--prompt", options.prompt, "Text of one example, for a model with a tokenizer")
      .excludes(data)
      .excludes(values)
      .excludes(picture);
}

namespace {

void check_inputs(const Dataset& data, const Type& taken) {
  const Type given = data.input_type();
  if (taken.dtype != given.dtype)
    throw Error(ErrorCode::kDtype,
                fmt::format("the model takes {}, the examples of {} are {}", to_string(taken),
                            in_quotes(data.name), name(given.dtype)));
  if (taken.shape.elements() != given.shape.elements())
    throw Error(ErrorCode::kShape,
                fmt::format("the model takes {}, the examples of {} have {}", to_string(taken),
                            in_quotes(data.name), counted(given.shape.elements(), "number")));
}

std::string_view name_of(HeldOut::Part part) {
  constexpr std::string_view kNames[] = {"", "test", "validation", "training"};
  return kNames[static_cast<std::size_t>(part)];
}

}  // namespace

Tensor fit_inputs(const Dataset& data, const Model& model) {
  const Input& input = data_input(model);
  check_inputs(data, input.type);
  return data.inputs_of(0, data.size()).reshape(input.type.shape.insert(0, data.size()));
}

void check_prompt(const std::optional<std::string>& prompt) {
  if (prompt && prompt->empty())
    throw UsageError("--prompt: expected at least one character, got none");
}

Model with_prompt(Model model, const ExampleOptions& options) {
  check_prompt(options.prompt);
  if (!options.prompt) return model;
  const std::vector<std::int32_t> tokens = prompt_tokens(tokenizer_of(model), *options.prompt);
  const std::optional<nn::Gpt> net = gpt_of(model);
  if (net && tokens.size() > static_cast<std::size_t>(net->context))
    throw UsageError(fmt::format("--prompt: expected at most {}, got {}",
                                 counted(net->context, "token"), tokens.size()));
  return at_length(std::move(model), static_cast<std::int64_t>(tokens.size()));
}

Examples read_examples(const ExampleOptions& options, const Model& model) {
  if (options.prompt)
    return {prompt_input(model, prompt_tokens(tokenizer_of(model), *options.prompt)), 0, {}};
  if (!options.data.empty()) {
    Dataset data = rows_of_data(options, model);
    Tensor inputs = fit_inputs(data, model);
    return {std::move(inputs), options.index, std::move(data)};
  }
  if (!options.picture.empty()) {
    Dataset data = load_picture(options.picture, model);
    Tensor inputs = fit_inputs(data, model);
    return {std::move(inputs), 0, std::move(data)};
  }
  if (options.values.empty())
    throw UsageError("expected one of --data, --values, --picture, --prompt and --input");
  return {example_of_numbers(parse_numbers(options.values), model), 0, {}};
}

void check_outputs(const Dataset& data, const Model& model) {
  const Type& output = model.function.type(model.function.outputs().front().value);
  const std::size_t rank = 1 + (data.windows ? data.windows->target_shape().rank() : 0);
  const std::int64_t given =
      output.dtype == Dtype::kF32 && output.shape.rank() == rank ? output.shape.back() : 0;
  const bool classes = data.has_classes();
  const std::int64_t wanted = classes ? data.classes : has_targets(data) ? data.outputs() : given;
  if (given == 0 || (classes ? given < wanted : given != wanted))
    throw Error(ErrorCode::kShape,
                fmt::format("the model gives {}, {} has {} {}", to_string(output),
                            in_quotes(data.name), wanted, classes ? "classes" : "targets"));
}

bool has_targets(const Dataset& data) { return data.target_type().shape.elements() > 0; }

HeldOut load_test_part(const DataSpec& spec, const Model& model, bool all) {
  if (all && !names_one_table(spec))
    throw UsageError(fmt::format("--all: expected a table or arrays without a test set, got {}",
                                 in_quotes(to_text(spec))));
  HeldOut test = all ? HeldOut{load_examples(spec, model)} : load_held_out(spec, model);
  Dataset& examples = test.examples;
  if (examples.size() == 0)
    throw UsageError(
        fmt::format("--data {}: its test set has no examples", in_quotes(to_text(spec))));
  if (examples.windows)
    check_inputs(examples, data_input(model).type);
  else
    examples.inputs = fit_inputs(examples, model);
  check_outputs(examples, model);
  return test;
}

std::string examples_text(const HeldOut& test) {
  const std::string count = std::to_string(test.examples.size());
  switch (test.part) {
    case HeldOut::Part::kGiven:
      if (test.known == 0) return fmt::format("examples  {}\n", count);
      return fmt::format(
          "examples  {}: about {:.0f} % of the examples that training saw are among them\n", count,
          100 * test.known);
    case HeldOut::Part::kTraining:
      return fmt::format("examples  {}: training saw all of them\n", count);
    case HeldOut::Part::kTest:
    case HeldOut::Part::kValidation:
      break;
  }
  return fmt::format("examples  {} of {}: the {} set, which training did not learn from\n", count,
                     test.of, name_of(test.part));
}

void add_examples(Json& json, const HeldOut& test) {
  json["examples"] = test.examples.size();
  if (test.known > 0) json["of_training"] = test.known;
  if (test.part == HeldOut::Part::kGiven) return;
  json["part"] = name_of(test.part);
  json["rows"] = test.of;
}

std::vector<ExampleLine> lines_of(const Examples& examples) {
  const Dataset& data = *examples.data;
  std::vector<ExampleLine> lines;
  // In a part of a table, examples are counted from 0, as --index counts them.
  const bool by_row = data.rows_of_table && !data.rows_of_table->left_out.empty();
  for (std::int64_t i = 0; i < data.size(); ++i)
    lines.push_back(
        {by_row ? data.rows_of_table->of_example[static_cast<std::size_t>(i)] : examples.first + i,
         i});
  if (!by_row) return lines;
  for (const LeftOut& out : data.rows_of_table->left_out) lines.push_back({out.row, {}, out.why});
  std::sort(lines.begin(), lines.end(),
            [](const ExampleLine& a, const ExampleLine& b) { return a.number < b.number; });
  return lines;
}

std::string notes_text(const Dataset& data) {
  std::string text;
  for (const std::string& note : data.notes) text += fmt::format("note: {}\n", printable(note));
  return text;
}

void print_notes(const Dataset& data) {
  for (const std::string& note : data.notes) print_note(note);
}

std::string picture_of(const Dataset& data, std::int64_t row) {
  if (data.task == Task::kNextToken) return text_of(data, row) + "\n";
  const std::optional<PictureShape> shape = shown_shape(data);
  if (!shape) return "";
  // Colours are too many for a terminal: their mean is drawn.
  const Tensor example = data.inputs.rows(row, 1);
  const std::span<const float> numbers = example.values<float>();
  const std::size_t pixels = numbers.size() / static_cast<std::size_t>(shape->channels);
  const auto all = static_cast<float>(shape->channels * std::max<std::int64_t>(1, shape->white));
  std::vector<float> grey(pixels, 0.0f);
  for (std::size_t i = 0; i < numbers.size(); ++i) grey[i % pixels] += numbers[i] / all;
  return half_blocks(grey, shape->width);
}

}  // namespace limpid::tool
