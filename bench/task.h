// The networks, inputs and labels of the comparison, with the same numbers in every process; and
// the right answers, computed by plain loops in double precision.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/subject.h"

namespace bench {

inline constexpr const char* kDigits = "relu:784-256-128-10";
inline constexpr int kTrainingBatches = 50;
inline constexpr float kRate = 0.01f;
inline constexpr float kMomentum = 0.9f;

// "relu:784-256-128-10": weights uniform within the square root of 6 / in, biases within 0.1.
Network network_of(const std::string& description);
std::vector<int> sizes_of_network(const std::string& description);
// "1024-2736": the width and the hidden size.
Gated gated_of(const std::string& description);
// A weight whose rows are integers up to a number, times a scale per row.
struct Codes {
  std::vector<float> values;  // (out, in)
  std::vector<float> scales;  // (out)
};
Codes codes_of(const Network& network, std::size_t layer, float most = 127);
// Rows of numbers in [-1, 1), and labels below 10.
std::vector<float> rows_of_input(int rows, int columns);
std::vector<std::int32_t> digits_labels(int rows);

std::vector<double> reference_logits(const Network& network, int batch, std::span<const float> x);
std::vector<double> reference_gated(const Gated& gated, int rows, std::span<const float> x);
// The parameters after this many steps, flat.
std::vector<double> reference_training(const Network& network, const TrainingTask& task, int steps);

// A matrix in [-8, 8), and the result of a function on it.
std::vector<float> function_input(int rows, int columns);
std::vector<long double> reference_function(const FunctionTask& task);
// In units in the last place of the f32 nearest to the exact value.
double error_in_ulp(float computed, long double exact);

// Layer by layer, weight before bias.
std::vector<float> flat(const Network& network);

}  // namespace bench
