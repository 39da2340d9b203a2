// Rosenblatt's perceptron on the truth tables of two inputs. Depends on nn/perceptron.h.
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
  std::array<float, 4> answers;  // for the corners, in order
};

// AND, OR, NAND, NOR, XOR.
std::span<const TruthTable> truth_tables();
// Throws kNotFound; the message lists the names that exist.
const TruthTable& truth_table_from_name(std::string_view name);

// (0, 0), (0, 1), (1, 0), (1, 1) as f32 (4, 2).
const Tensor& corners();
// The answers as f32 of 4 elements.
Tensor targets_of(const TruthTable& table);

struct Lesson {
  std::string_view target;
  nn::PerceptronRun run;
  std::int64_t epochs;  // the most epochs
};

// Trains from zero weights, with rate 1, until an epoch has no mistake.
Lesson learn(const TruthTable& table, std::int64_t epochs);

// The mistakes in each of the first eight epochs.
Table to_table(std::span<const Lesson> lessons);
// The outcome in a sentence: learnt, never learnt, or undecided so far.
std::string ending(const Lesson& lesson);
std::vector<report::Chart> charts_of(std::span<const Lesson> lessons);

}  // namespace limpid::lab
