// The doctor's rules, of data, of the loss, of layers, of transformers and of regularisation; and
// what they share.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/train/doctor.h"

namespace limpid::train::detail {

// One a file, each rule with its thresholds, texts and check; rules() joins them.
extern const std::span<const Rule> rules_of_data, rules_of_loss, rules_of_layers,
    rules_of_transformers, rules_of_regularisation;

// ---- what the run was told

// The value at a path of the configuration, "optimizer.lr"; nullptr where it says nothing.
const Json* value_at(const Json& config, std::string_view path);
// The same as a number or as text; `otherwise` where it is none.
double number_at(const RunLog& log, std::string_view path, double otherwise);
std::string_view text_at(const RunLog& log, std::string_view path);
// Whether the features, and the targets of a regression, are standardised.
bool standardizes(const RunLog& log);

// ---- what to try

Remedy words(std::string text);
Remedy set(std::string_view key, Json value);
// An option of --data: "standardize" is replaced, others are added.
Remedy set_data(const RunLog& log, std::string_view option, std::string_view value);
// The initialisation that suits the activations.
Remedy suitable_init(const RunLog& log);
// Nothing where gradients are clipped to that already.
std::vector<Remedy> clip(const RunLog& log);
// A learning rate at which steps would change weights by a usual share: by the ratio of the first
// probe and the optimiser's usual rate, at most a tenth of the rate so far, or at least ten times
// as much.
Remedy lower_rate(const RunLog& log);
Remedy higher_rate(const RunLog& log);
// The rate so far, times `factor`.
Remedy rate_times(const RunLog& log, double factor);
std::vector<Remedy> joined(std::vector<Remedy> first, const std::vector<Remedy>& then);

// ---- what the log tells

// Of an even number of values the upper of the two in the middle; 0 of none.
double median(std::vector<double> values);
double mean(std::span<const double> values);

// Whether training came to its end; an interrupted run may go on.
bool ended(const RunLog& log);

// NaN where there is none.
double loss_of(const Numbers& numbers);
// The mean of the first losses, as long as none has leapt: the first one is from before any update,
// but of one batch.
double initial_loss(const RunLog& log);
// Of the last of the epochs, of the training part; NaN without one.
double last_training_loss(const RunLog& log);
// The loss of answering every class alike; NaN for other tasks.
double loss_of_chance(const RunLog& log);
// The loss of the best answer that is the same for all rows: of a classification by how frequent
// the classes are, of a regression the variance of standardised targets; NaN where it is not known.
double loss_of_constant(const RunLog& log);

// The largest learning rate so far; 0 without a step.
double largest_rate(const RunLog& log);
// The norm of a layer's parameters.
double weight_norm(const LayerStatistics& layer);
// The largest update-to-weight ratio of a layer in each probe: its median over the probes. 0
// without a probe.
double typical_update_ratio(const RunLog& log);

Finding finding(Severity severity, std::string layer, std::string symptom, std::string cause,
                std::vector<Remedy> remedies);

}  // namespace limpid::train::detail
