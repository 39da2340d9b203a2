// The network, the inputs and the labels of the comparison, the same numbers in every process; and
// plain loops in double precision that say what the answers are.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/subject.h"

namespace bench {

inline constexpr int kTrainingBatches = 50;
inline constexpr float kRate = 0.01f;
inline constexpr float kMomentum = 0.9f;

// 784-256-128-10, weights uniform within the square root of 6 / in, biases within 0.1.
Network digits_network();
// Rows of 784 in [-1, 1), and classes below 10.
std::vector<float> digits_images(int rows);
std::vector<std::int32_t> digits_labels(int rows);

std::vector<double> reference_logits(const Network& network, int batch,
                                     const std::vector<float>& images);
// The parameters after that many steps, flat.
std::vector<double> reference_training(const Network& network, const TrainingTask& task, int steps);

// A matrix in [-4, 4), and what a function makes of it.
std::vector<float> function_input(int rows, int columns);
std::vector<double> reference_function(const FunctionTask& task);

// Layer by layer, weight before bias.
std::vector<float> flat(const Network& network);

}  // namespace bench
