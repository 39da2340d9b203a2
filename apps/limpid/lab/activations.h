// Activations and their slopes as curves. Depends on nn/activation.h.
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
  std::vector<double> slope;  // empty if the activation has no gradient
};

// The curve at i * step for i = -steps ... steps, in f64, by the reference arithmetic.
ActivationCurve curve_of(const nn::Activation& activation, std::int64_t steps, double step);

// The curves of all activations, from -8 to 8.
std::vector<ActivationCurve> activation_curves();

// The properties of each activation, and the steepest slope measured.
Table to_table(std::span<const ActivationCurve> curves);
// One chart for each activation, with its slope.
std::vector<report::Chart> charts_of(std::span<const ActivationCurve> curves);

}  // namespace limpid::lab
