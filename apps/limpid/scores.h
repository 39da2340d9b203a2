// Metrics for people: what an evaluation found, as readable tables.
#pragma once

#include <string>

#include "apps/limpid/output.h"
#include "limpid/data/dataset.h"
#include "limpid/formats/model.h"
#include "limpid/train/events.h"

namespace limpid::tool {

// What the model scores on all of `test`, by the loss that it was trained with or its task usually
// has. Throws what Evaluator does.
train::TestResult scores_of(const Model& model, const Dataset& test, ThreadPool& pool);

// What a class is called, or a label where the task is to give several; else its number.
std::string class_name(const Dataset& data, std::size_t c);

// A metric as people read it: "97.53 %" of an accuracy, "0.0871" of a loss.
std::string score_text(const std::string& metric, double value);

// The metrics; scores by class or label, of very many the lowest; the confusion matrix where it
// fits a terminal. `data` says what classes are called.
std::string scores_text(const Dataset& data, const train::TestResult& result);

// The same as members of an object: the metrics by name, "per_class" and "confusion".
Json scores_json(const train::TestResult& result);

}  // namespace limpid::tool
