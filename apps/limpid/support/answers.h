// Predictions of a model for examples, as text and as JSON. Depends on output.h and limpid/inspect.
#pragma once

#include "apps/limpid/support/examples.h"
#include "apps/limpid/support/output.h"
#include "limpid/core/tensor.h"
#include "limpid/data/text/tokenizer.h"

namespace limpid::tool {

// Predictions for examples of a data set; `outputs` is f32 [N, outputs]. Classification: label (if
// the data has it), predicted class, logits and probabilities; for a text, those after the last
// token. Multi-label: logits, probabilities and targets. Regression: predictions and targets.
Json answers_json(const Examples& examples, const Tensor& outputs);

// Prints the same. If features have no names, one example after another, with images drawn and a
// line for each class; else a table with a line for each example.
void print_answers(const Examples& examples, const Tensor& outputs);

// The most probable next tokens of a text, from logits f32 [1, ..., tokens] after each of its
// tokens.
Json next_tokens_json(const Tokenizer& tokenizer, const Tensor& logits);
void print_next_tokens(const Tokenizer& tokenizer, const Tensor& logits);

// "label 3", or the name of the class; "" if the data has no targets.
std::string target_text(const Dataset& data, std::int64_t row);

}  // namespace limpid::tool
