// The results of an evaluation as readable tables.
#pragma once

#include <string>

#include "apps/limpid/support/output.h"
#include "limpid/data/dataset.h"
#include "limpid/formats/model.h"
#include "limpid/train/log/events.h"

namespace limpid::tool {

// Evaluates the model on all of `test`, with the loss of its training, else the default loss of its
// task. Throws what Evaluator throws.
train::TestResult scores_of(const Model& model, const Dataset& test, ThreadPool& pool);

// The name of a class, or of a label of a multi-label task; without names, its number.
std::string class_name(const Dataset& data, std::size_t c);

// A metric as readable text: "97.53 %" for an accuracy, "0.0871" for a loss.
std::string score_text(const std::string& metric, double value);

// The metrics, scores by class or label (of many, only the lowest), and the confusion matrix if it
// fits a terminal. `data` gives the class names.
std::string scores_text(const Dataset& data, const train::TestResult& result);

// The same as a JSON object: the metrics by name, "per_class", "per_target" and "confusion".
Json scores_json(const train::TestResult& result);

}  // namespace limpid::tool
