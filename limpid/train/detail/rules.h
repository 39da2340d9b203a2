// What the doctor's rules share, and the checks themselves: those of the loss, of layers, of data.
#pragma once

#include <optional>

#include "limpid/train/doctor.h"

namespace limpid::train::detail {

using Check = std::optional<Finding>(const RunLog& log, const Thresholds& thresholds);

// rules_of_loss.cc
Check loss_not_finite, loss_flat, loss_exploding, loss_spikes, loss_oscillating, overfitting,
    underfitting;
// rules_of_layers.cc
Check vanishing_gradient, exploding_gradient, dead_units, saturated_units, zero_activations,
    update_ratio, frozen_weights, poor_initialization;
// rules_of_transformers.cc
Check attention_collapse, residual_growth;
// rules_of_data.cc
Check data_not_finite, inputs_not_normalized, class_imbalance, duplicate_rows, leaked_rows;

// Of an even number of values the upper of the two in the middle; 0 of none.
double median(std::vector<double> values);

// The largest learning rate so far; 0 without a step.
double largest_rate(const RunLog& log);
// "--lr 0.005": the largest rate so far times `factor`.
std::string rate_times(const RunLog& log, double factor);
// The largest update-to-weight ratio of a layer in each probe: its median over the probes. 0
// without a probe.
double typical_update_ratio(const RunLog& log);

}  // namespace limpid::train::detail
