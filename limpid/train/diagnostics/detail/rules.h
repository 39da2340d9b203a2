// The doctor's rules for data, loss, layers, transformers and regularisation, and their shared
// functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/train/diagnostics/doctor.h"

namespace limpid::train::detail {

// One list per file, each rule with its thresholds, texts and check; rules() joins them.
extern const std::span<const Rule> rules_of_data, rules_of_loss, rules_of_layers,
    rules_of_transformers, rules_of_regularisation;

// ---- the configuration of the run

// The value at a path of the configuration, such as "optimizer.lr"; nullptr if it has none.
const Json* value_at(const Json& config, std::string_view path);
// The same as a number, or `otherwise` if it is not a number; and as text.
double number_at(const RunLog& log, std::string_view path, double otherwise);
std::string_view text_at(const RunLog& log, std::string_view path);
// Whether the features, and the targets of a regression, are standardised.
bool standardizes(const RunLog& log);

// ---- remedies

Remedy words(std::string text);
Remedy set(std::string_view key, Json value);
// An option of --data: "standardize" is replaced, others are added.
Remedy set_data(const RunLog& log, std::string_view option, std::string_view value);
// The initialisation that matches the activations.
Remedy suitable_init(const RunLog& log);
// Empty if gradients are clipped to this limit already.
std::vector<Remedy> clip(const RunLog& log);
// A learning rate with a typical update-to-weight ratio, estimated from the first probe and the
// optimiser's default rate: at most a tenth of the current rate, or at least ten times it.
Remedy lower_rate(const RunLog& log);
Remedy higher_rate(const RunLog& log);
// The current learning rate times `factor`.
Remedy rate_times(const RunLog& log, double factor);
std::vector<Remedy> joined(std::vector<Remedy> first, const std::vector<Remedy>& then);

// ---- quantities from the log

// For an even number of values, the upper of the two middle ones; 0 for none.
double median(std::vector<double> values);
double mean(std::span<const double> values);

// Whether training has ended; an interrupted run can be resumed.
bool ended(const RunLog& log);

// The number of epochs in the log that are whole: a run of so many steps may end within one. All of
// them if the log does not say how long an epoch is.
std::size_t whole_epochs(const RunLog& log);

// NaN if there is no loss.
double loss_of(const Numbers& numbers);
// The mean of the first losses, up to the first jump: the first loss is from before any update, but
// of one batch only.
double initial_loss(const RunLog& log);
// The loss on the training set in the last epoch; NaN without an epoch.
double last_training_loss(const RunLog& log);
// The loss of predicting all classes with equal probability; NaN for other tasks.
double loss_of_chance(const RunLog& log);
// The loss of the best constant prediction: for a classification from the class frequencies, for a
// regression the variance of standardised targets; NaN if unknown.
double loss_of_constant(const RunLog& log);

// The largest learning rate so far; 0 without a step.
double largest_rate(const RunLog& log);
// The L2 norm of a layer's parameters.
double weight_norm(const LayerStatistics& layer);
// The median over the probes of the largest update-to-weight ratio of a layer; 0 without a probe.
double typical_update_ratio(const RunLog& log);

Finding finding(Severity severity, std::string layer, std::string symptom, std::string cause,
                std::vector<Remedy> remedies);

}  // namespace limpid::train::detail
