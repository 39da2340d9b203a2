#include "apps/limpid/lab/perceptron.h"

#include <fmt/format.h>

namespace limpid::lab {
namespace {

constexpr std::size_t kShown = 8;

constexpr TruthTable kTruthTables[] = {{"AND", {0, 0, 0, 1}},
                                       {"OR", {0, 1, 1, 1}},
                                       {"NAND", {1, 1, 1, 0}},
                                       {"NOR", {1, 0, 0, 0}},
                                       {"XOR", {0, 1, 1, 0}}};

bool learnt(const Lesson& lesson) {
  return !lesson.run.mistakes.empty() && lesson.run.mistakes.back() == 0;
}

}  // namespace

std::span<const TruthTable> truth_tables() { return kTruthTables; }

const TruthTable& truth_table_from_name(std::string_view name) {
  std::vector<std::string> names;
  for (const TruthTable& t : kTruthTables) {
    if (t.name == name) return t;
    names.emplace_back(t.name);
  }
  throw_missing(name, names);
}

const Tensor& corners() {
  static const Tensor x = Tensor::from<float>({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
  return x;
}

Tensor targets_of(const TruthTable& table) {
  return Tensor::from({4}, std::vector<float>(table.answers.begin(), table.answers.end()));
}

Lesson learn(const TruthTable& table, std::int64_t epochs) {
  return {table.name, nn::train_perceptron(nn::Perceptron{2}, corners(), targets_of(table), epochs),
          epochs};
}

Table to_table(std::span<const Lesson> lessons) {
  Table table{{{"target"}}, {}};
  for (std::size_t e = 1; e <= kShown; ++e)
    table.columns.push_back({fmt::format("{}", e), Align::kRight});
  table.columns.push_back({""});
  for (const Lesson& lesson : lessons) {
    const auto& mistakes = lesson.run.mistakes;
    std::vector<std::string> row{std::string(lesson.target)};
    for (std::size_t e = 0; e < kShown; ++e)
      row.push_back(e < mistakes.size() ? fmt::format("{}", mistakes[e]) : "");
    row.push_back(learnt(lesson) ? fmt::format("learnt in {}", mistakes.size())
                                 : fmt::format("not learnt in {}", lesson.epochs));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string ending(const Lesson& lesson) {
  if (learnt(lesson))
    return fmt::format("Learnt: epoch {} is without a mistake.", lesson.run.mistakes.size());
  if (const auto back = nn::first_return(lesson.run))
    return fmt::format(
        "Never learnt: the weights after epoch {} equal those after epoch {}, so the epochs repeat "
        "for ever.",
        back->epoch + 1, back->earlier + 1);
  return fmt::format("Not learnt in {} epochs.", lesson.epochs);
}

std::vector<report::Chart> charts_of(std::span<const Lesson> lessons) {
  report::Chart chart{"Mistakes of four answers", "epoch", "mistakes"};
  for (const Lesson& lesson : lessons) {
    report::Series series{std::string(lesson.target), {}};
    for (std::size_t e = 0; e < lesson.run.mistakes.size(); ++e)
      series.points.push_back(
          {static_cast<double>(e + 1), static_cast<double>(lesson.run.mistakes[e])});
    chart.series.push_back(std::move(series));
  }
  return {chart};
}

}  // namespace limpid::lab
