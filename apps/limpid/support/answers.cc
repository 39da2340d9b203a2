#include "apps/limpid/support/answers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "limpid/compile/executable.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/number_text.h"
#include "limpid/data/batches.h"
#include "limpid/function/builder.h"
#include "limpid/inspect/table.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/softmax.h"
#include "limpid/train/loop/metrics.h"

namespace limpid::tool {
namespace {

Tensor probabilities_of(Task task, const Tensor& logits) {
  const Function function =
      trace("probabilities", {{"logits", logits.type()}}, [&](std::span<const Value> in) {
        return std::vector<Value>{task == Task::kMultiLabel ? sigmoid(in[0]) : softmax(in[0])};
      });
  return compile(function)({&logits, 1}).front();
}

// The numbers of one row of f32 [N, columns].
std::span<const float> row_of(const Tensor& table, std::int64_t row) {
  const auto width = static_cast<std::size_t>(table.shape()[1]);
  return table.values<float>().subspan(static_cast<std::size_t>(row) * width, width);
}

// The target of the last token of a window.
std::int32_t label_of(const Dataset& data, std::int64_t row) {
  const Tensor targets = data.targets_of(row, 1);
  return targets.values<std::int32_t>()[static_cast<std::size_t>(data.counted(row) - 1)];
}

// The logits of the last token, if the model gives logits for every token of a window.
Tensor last_logits(const Dataset& data, const Tensor& outputs) {
  if (data.task != Task::kNextToken || outputs.shape().rank() != 3) return outputs;
  const std::int64_t rows = outputs.shape()[0];
  const std::int64_t context = outputs.shape()[1];
  const Tensor all = outputs.reshape({rows * context, outputs.shape()[2]});
  std::vector<std::int32_t> last;
  for (std::int64_t row = 0; row < rows; ++row)
    last.push_back(static_cast<std::int32_t>(row * context + data.counted(row) - 1));
  return gather_rows(all, last);
}

// The name of a class, or the bytes of a token.
std::optional<std::string> known_name(const Dataset& data, std::int64_t number) {
  const auto at = static_cast<std::size_t>(number);
  if (at < data.class_names.size()) return data.class_names[at];
  const auto token = static_cast<std::int32_t>(number);
  if (data.tokenizer && token < data.tokenizer->size()) return data.tokenizer->decode({&token, 1});
  return {};
}

// A class by its name, a token in quotes; a class without a name by its number.
std::string class_text(const Dataset& data, std::int64_t number) {
  const std::optional<std::string> name = known_name(data, number);
  if (!name) return std::to_string(number);
  return data.task == Task::kNextToken ? in_quotes(*name) : *name;
}

// "none" where a logit is NaN.
std::string prediction_text(const Dataset& data, std::span<const float> logits) {
  const auto best = train::prediction_of(logits);
  return best ? class_text(data, static_cast<std::int64_t>(*best)) : "none";
}

std::string output_name(const Dataset& data, std::int64_t column) {
  const auto at = static_cast<std::size_t>(column);
  return at < data.target_names.size() ? data.target_names[at] : fmt::format("output {}", column);
}

std::string probability_text(float p) {
  return fmt::format("{:.6f}", unsigned_nan(static_cast<double>(p)));
}

Json numbers_json(std::span<const float> numbers) {
  Json list = Json::array();
  for (const float number : numbers) list.push_back(json_of(number));
  return list;
}

// ---- rows of a table

// The row of the file, if it is a table.
std::int64_t row_number(const Dataset& data, const ExampleLine& line) {
  if (!data.rows_of_table || !line.example) return line.number;
  return data.rows_of_table->of_example[static_cast<std::size_t>(*line.example)];
}

std::string id_of(const Dataset& data, const ExampleLine& line) {
  return data.rows_of_table->ids[static_cast<std::size_t>(row_number(data, line))];
}

// ---- one example

// All classes in their order; of many tokens, the most probable ones.
std::vector<std::size_t> shown_classes(const Dataset& data, std::span<const float> logits) {
  constexpr std::size_t kTokens = 20;
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (data.task != Task::kNextToken) return order;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  order.resize(std::min(order.size(), kTokens));
  return order;
}

std::string class_table(const Dataset& data, std::span<const float> logits,
                        std::span<const float> probabilities) {
  Table table{{{"class", Align::kRight}, {"logit", Align::kRight}, {"probability", Align::kRight}},
              {}};
  for (const std::size_t c : shown_classes(data, logits))
    table.rows.push_back({class_text(data, static_cast<std::int64_t>(c)),
                          short_number(static_cast<double>(logits[c])),
                          probability_text(probabilities[c])});
  return to_text(table);
}

// ---- the next token

struct NextToken {
  std::int32_t token;
  float logit, probability;
};

// Candidates after the last token of a text, most probable first; if equal, lower number first.
std::vector<NextToken> next_tokens(const Tokenizer& tokenizer, const Tensor& logits) {
  constexpr std::size_t kShown = 10;
  if (logits.elements() == 0)
    throw Error(ErrorCode::kShape, fmt::format("the model gives {}, expected logits of tokens",
                                               to_string(logits.type())));
  const std::int64_t width = logits.shape().back();
  const Tensor rows = logits.reshape({logits.elements() / width, width});
  // Logits beyond the vocabulary are padding and belong to no token.
  const std::int64_t tokens = std::min(width, tokenizer.size());
  const Tensor last = rows.rows(rows.shape()[0] - 1, 1).reshape({width}).rows(0, tokens);
  const Tensor probabilities = probabilities_of(Task::kNextToken, last);
  std::vector<NextToken> all;
  for (std::int64_t i = 0; i < tokens; ++i) {
    const auto at = static_cast<std::size_t>(i);
    all.push_back({static_cast<std::int32_t>(i), last.values<float>()[at],
                   probabilities.values<float>()[at]});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const NextToken& a, const NextToken& b) { return a.logit > b.logit; });
  all.resize(std::min(all.size(), kShown));
  return all;
}

// ---- a line for each example

Table classes_table(const Examples& examples, const Tensor& logits, const Tensor& probabilities) {
  const Dataset& data = *examples.data;
  Table table{{{"example", Align::kRight}, {"prediction"}, {"probability", Align::kRight}}, {}};
  if (has_targets(data)) table.columns.push_back({"label"});
  for (const ExampleLine& line : lines_of(examples)) {
    table.rows.push_back({std::to_string(line.number)});
    auto& cells = table.rows.back();
    if (!line.example) {
      cells.push_back("none: " + line.problem);
    } else {
      const std::span<const float> row = row_of(logits, *line.example);
      cells.push_back(prediction_text(data, row));
      cells.push_back(probability_text(
          row_of(probabilities, *line.example)[train::prediction_of(row).value_or(0)]));
      if (has_targets(data)) cells.push_back(class_text(data, label_of(data, *line.example)));
    }
    cells.resize(table.columns.size());
  }
  return table;
}

// Probabilities for labels, numbers for a regression.
Table numbers_table(const Examples& examples, const Tensor& numbers) {
  const Dataset& data = *examples.data;
  const bool labels = data.task == Task::kMultiLabel;
  const auto text = [&](float number) {
    return labels ? probability_text(number) : short_number(static_cast<double>(number));
  };
  Table table{{{"example", Align::kRight}}, {}};
  const std::int64_t columns = numbers.shape()[1];
  for (std::int64_t c = 0; c < columns; ++c)
    table.columns.push_back({output_name(data, c), Align::kRight});
  if (has_targets(data))
    for (std::int64_t c = 0; c < columns; ++c)
      table.columns.push_back({"target " + output_name(data, c), Align::kRight});
  for (const ExampleLine& line : lines_of(examples)) {
    table.rows.push_back({std::to_string(line.number)});
    auto& cells = table.rows.back();
    if (!line.example) {
      cells.push_back("none: " + line.problem);
    } else {
      for (const float number : row_of(numbers, *line.example)) cells.push_back(text(number));
      if (has_targets(data))
        for (const float target : row_of(data.targets, *line.example))
          cells.push_back(short_number(static_cast<double>(target)));
    }
    cells.resize(table.columns.size());
  }
  return table;
}

}  // namespace

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string target_text(const Dataset& data, std::int64_t row) {
  if (!has_targets(data)) return "";
  if (data.has_classes()) return "label " + printable(class_text(data, label_of(data, row)));
  std::vector<std::string> numbers;
  for (const float target : row_of(data.targets, row))
    numbers.push_back(short_number(static_cast<double>(target)));
  return fmt::format("target {}", fmt::join(numbers, ", "));
}

Json answers_json(const Examples& examples, const Tensor& all_outputs) {
  const Dataset& data = *examples.data;
  const Tensor outputs = last_logits(data, all_outputs);
  const bool classes = data.has_classes();
  const bool numbers = data.task == Task::kRegression;
  const Tensor probabilities = numbers ? Tensor() : probabilities_of(data.task, outputs);
  Json list = Json::array();
  for (const ExampleLine& line : lines_of(examples)) {
    Json answer{{"example", line.number}};
    if (data.rows_of_table && !data.rows_of_table->ids.empty()) answer["id"] = id_of(data, line);
    if (!line.example) {
      answer["problem"] = line.problem;
      list.push_back(std::move(answer));
      continue;
    }
    const std::int64_t i = *line.example;
    if (classes && has_targets(data)) answer["label"] = label_of(data, i);
    if (classes) {
      const auto best = train::prediction_of(row_of(outputs, i));
      answer["prediction"] = best ? Json(*best) : Json();
      if (const auto name =
              best ? known_name(data, static_cast<std::int64_t>(*best)) : std::nullopt)
        answer["class"] = *name;
    }
    answer[numbers ? "outputs" : "logits"] = numbers_json(row_of(outputs, i));
    if (!numbers) answer["probabilities"] = numbers_json(row_of(probabilities, i));
    if (!classes && has_targets(data)) answer["targets"] = numbers_json(row_of(data.targets, i));
    list.push_back(std::move(answer));
  }
  return Json{{"answers", list}};
}

std::string answers_csv(const Examples& examples, const Tensor& outputs) {
  const Dataset& data = *examples.data;
  const bool classes = data.has_classes();
  const bool numbers = data.task == Task::kRegression;
  const Tensor shown = numbers ? outputs : probabilities_of(data.task, outputs);
  const bool ids = data.rows_of_table && !data.rows_of_table->ids.empty();
  std::vector<std::string> cells{"row"};
  std::string text;
  const auto end_line = [&] {
    for (std::string& cell : cells) cell = csv_field(cell);
    text += fmt::format("{}\n", fmt::join(cells, ","));
    cells.clear();
  };
  if (ids) cells.push_back(data.rows_of_table->id_column);
  if (classes) cells.emplace_back("prediction");
  for (std::int64_t c = 0; c < shown.shape()[1]; ++c)
    cells.push_back(numbers
                        ? output_name(data, c)
                        : "probability." + (classes ? class_text(data, c) : output_name(data, c)));
  if (data.rows_of_table) cells.emplace_back("problem");
  const std::size_t width = cells.size();
  end_line();
  for (const ExampleLine& line : lines_of(examples)) {
    cells.push_back(std::to_string(row_number(data, line)));
    if (ids) cells.push_back(id_of(data, line));
    std::string problem = line.problem;
    if (line.example) {
      const std::span<const float> row = row_of(outputs, *line.example);
      const bool no_class = classes && !train::prediction_of(row);
      if (no_class) problem = "the model gives NaN";
      if (classes) cells.push_back(no_class ? "" : prediction_text(data, row));
      for (const float number : row_of(shown, *line.example))
        cells.push_back(exact_number(static_cast<double>(number), Dtype::kF32));
    }
    cells.resize(width);
    if (!problem.empty() && data.rows_of_table) cells.back() = problem;
    end_line();
  }
  return text;
}

void print_answers(const Examples& examples, const Tensor& all_outputs) {
  const Dataset& data = *examples.data;
  const Tensor outputs = last_logits(data, all_outputs);
  const bool classes = data.has_classes();
  const bool numbers = data.task == Task::kRegression;
  const Tensor shown = numbers ? outputs : probabilities_of(data.task, outputs);
  if (!data.feature_names.empty() || !classes) {
    print(to_text(classes ? classes_table(examples, outputs, shown)
                          : numbers_table(examples, shown)));
    return;
  }
  for (std::int64_t i = 0; i < data.size(); ++i) {
    if (i > 0) print("\n");
    print(picture_of(data, i));
    const std::string target = target_text(data, i);
    print(fmt::format("example {}: {}{}prediction {}\n", examples.first + i, target,
                      target.empty() ? "" : ", ",
                      printable(prediction_text(data, row_of(outputs, i)))));
    print(class_table(data, row_of(outputs, i), row_of(shown, i)));
  }
}

Json next_tokens_json(const Tokenizer& tokenizer, const Tensor& logits) {
  Json list = Json::array();
  for (const NextToken& next : next_tokens(tokenizer, logits))
    list.push_back({{"token", next.token},
                    {"text", in_quotes(tokenizer.decode({&next.token, 1}))},
                    {"logit", json_of(next.logit)},
                    {"probability", json_of(next.probability)}});
  return Json{{"next", list}};
}

void print_next_tokens(const Tokenizer& tokenizer, const Tensor& logits) {
  Table table{{{"token", Align::kRight}, {"text"}, {"logit", Align::kRight}, {"probability"}}, {}};
  for (const NextToken& next : next_tokens(tokenizer, logits))
    table.rows.push_back({std::to_string(next.token), in_quotes(tokenizer.decode({&next.token, 1})),
                          short_number(static_cast<double>(next.logit)),
                          probability_text(next.probability)});
  print(to_text(table));
}

}  // namespace limpid::tool
