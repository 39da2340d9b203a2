// Activations and their slopes as curves. Leans on nn/activation.h.
#pragma once

#include <span>
#include <vector>

#include "limpid/inspect/table.h"
#include "limpid/nn/activation.h"
#include "limpid/report/chart.h"

namespace limpid::lab {

struct ActivationCurve {
  nn::Activation activation;
  std::vector<double> x, y;
  std::vector<double> slope;  // empty where the activation has no gradient
};

// In f64, by the reference arithmetic, at i * step for i = -steps ... steps.
ActivationCurve curve_of(const nn::Activation& activation, std::int64_t steps, double step);

// Every activation there is, from -8 to 8.
std::vector<ActivationCurve> activation_curves();

// What is known of each, and the steepest slope that was measured.
Table to_table(std::span<const ActivationCurve> curves);
// One for each activation, with its slope.
std::vector<report::Chart> charts_of(std::span<const ActivationCurve> curves);

}  // namespace limpid::lab
