// The doctor's rules, of the loss, of layers, of transformers and of data; and what they share.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "limpid/train/doctor.h"

namespace limpid::train::detail {

// One a file, each rule with its thresholds, texts and check; rules() joins them.
extern const std::span<const Rule> rules_of_loss, rules_of_layers, rules_of_transformers,
    rules_of_data;

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
