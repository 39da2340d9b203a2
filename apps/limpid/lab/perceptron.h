// Rosenblatt's perceptron on the truth tables of two inputs. Leans on nn/perceptron.h.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/inspect/table.h"
#include "limpid/nn/perceptron.h"
#include "limpid/report/chart.h"

namespace limpid::lab {

struct TruthTable {
  std::string_view name;         // "AND"
  std::array<float, 4> answers;  // to the corners, in their order
};

// AND, OR, NAND, NOR, XOR.
std::span<const TruthTable> truth_tables();
// Throws kNotFound, naming those there are.
const TruthTable& truth_table_from_name(std::string_view name);

// (0, 0), (0, 1), (1, 0), (1, 1) as f32 (4, 2).
const Tensor& corners();
// The answers as f32 of 4 elements.
Tensor targets_of(const TruthTable& table);

struct Lesson {
  std::string_view target;
  nn::PerceptronRun run;
  std::int64_t epochs;  // at most
};

// From zero weights, at rate 1, until an epoch is without a mistake.
Lesson learn(const TruthTable& table, std::int64_t epochs);

// Mistakes by epoch, of the first eight.
Table to_table(std::span<const Lesson> lessons);
// How it ended, in a sentence: learnt, never to be learnt, or neither so far.
std::string ending(const Lesson& lesson);
std::vector<report::Chart> charts_of(std::span<const Lesson> lessons);

}  // namespace limpid::lab
