// limpid run: what a model gives for some examples.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "apps/limpid/command.h"
#include "apps/limpid/examples.h"
#include "apps/limpid/output.h"
#include "apps/limpid/threads.h"
#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/inspect/table.h"
#include "limpid/ops/softmax.h"

namespace limpid::tool {
namespace {

struct Options {
  std::string model;
  ExampleOptions examples;
  int threads = 1;
  bool json = false;
};

// What a classifier says of one example.
struct Answer {
  std::int64_t example = 0;
  std::int32_t label = 0;
  std::int64_t prediction = 0;
  Tensor logits;         // f32 [classes]
  Tensor probabilities;  // f32 [classes]
};

Tensor softmax_of(const Tensor& logits) {
  const Function softmax_function =
      trace("softmax", {{"logits", logits.type()}},
            [](std::span<const Value> in) { return std::vector<Value>{softmax(in[0])}; });
  return compile(softmax_function)({&logits, 1}).front();
}

std::vector<Answer> answers_of(const Examples& examples, const Tensor& logits) {
  const Tensor probabilities = softmax_of(logits);
  const Shape classes{logits.shape().back()};
  std::vector<Answer> answers;
  for (std::int64_t i = 0; i < logits.shape()[0]; ++i) {
    const Tensor row = logits.rows(i, 1).reshape(classes);
    const auto values = row.values<float>();
    const auto best = std::max_element(values.begin(), values.end()) - values.begin();
    answers.push_back({examples.first + i,
                       examples.data->targets.values<std::int32_t>()[static_cast<std::size_t>(i)],
                       best, row, probabilities.rows(i, 1).reshape(classes)});
  }
  return answers;
}

Json json_of(const std::vector<Answer>& answers) {
  Json list = Json::array();
  for (const Answer& a : answers)
    list.push_back({{"example", a.example},
                    {"label", a.label},
                    {"prediction", a.prediction},
                    {"logits", tool::json_of(a.logits)},
                    {"probabilities", tool::json_of(a.probabilities)}});
  return Json{{"answers", list}};
}

std::string text_of(const Answer& answer) {
  Table table{{{"class", Align::kRight}, {"logit", Align::kRight}, {"probability", Align::kRight}},
              {}};
  for (std::int64_t c = 0; c < answer.logits.elements(); ++c) {
    const auto at = static_cast<std::size_t>(c);
    table.rows.push_back({std::to_string(c),
                          short_number(static_cast<double>(answer.logits.values<float>()[at])),
                          fmt::format("{:.6f}", answer.probabilities.values<float>()[at])});
  }
  return fmt::format("example {}: label {}, prediction {}\n{}", answer.example, answer.label,
                     answer.prediction, to_text(table));
}

void print_answers(const Examples& examples, const std::vector<Answer>& answers) {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (i > 0) print("\n");
    print(picture_of(*examples.data, static_cast<std::int64_t>(i)));
    print(text_of(answers[i]));
  }
}

// The output's name, or "output", and its numbers.
void print_output(const Model& model, const Tensor& output, bool json) {
  const std::string& name = model.function.outputs().front().name;
  if (json) {
    print_json(Json{{name.empty() ? "output" : name, tool::json_of(output)}});
    return;
  }
  std::vector<std::string> numbers;
  for (float v : output.values<float>()) numbers.push_back(short_number(static_cast<double>(v)));
  print(fmt::format("{} = {}\n", name.empty() ? "output" : printable(name),
                    fmt::join(numbers, ", ")));
}

void run(const Options& options) {
  const Model model = load_model(options.model);
  const Examples examples = read_examples(options.examples, model);
  if (examples.data) check_classes(*examples.data, model);
  ThreadPool pool({.threads = options.threads});
  const Tensor output = predict(model, examples.inputs, &pool);
  if (!examples.data) {
    print_output(model, output, options.json);
    return;
  }
  const std::vector<Answer> answers = answers_of(examples, output);
  if (options.json)
    print_json(json_of(answers));
  else
    print_answers(examples, answers);
}

}  // namespace

void add_run(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("run", "What a model gives for some examples");
  add_model_option(*command, options->model);
  add_example_options(*command, options->examples);
  command->add_option("--count", options->examples.count, "How many examples of --data")
      ->needs(command->get_option("--data"))
      ->check(within(1, kMostExamples))
      ->type_name("N")
      ->capture_default_str();
  add_threads_option(*command, options->threads);
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { run(*options); });
}

}  // namespace limpid::tool
