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

// The same as CSV: a header, then a line for each row of the data set, which has its number, the
// name that a column of ids gives it, the predicted class, probabilities or numbers that read back
// as the same bits, and for a table why a row has no prediction. For a text, as raw numbers.
std::string answers_csv(const Examples& examples, const Tensor& outputs);

// Prints the same. If features have no names, one example after another, with images drawn and a
// line for each class; else a table with a line for each example.
void print_answers(const Examples& examples, const Tensor& outputs);

// The most probable next tokens of a text, from logits f32 [1, ..., tokens] after each of its
// tokens.
Json next_tokens_json(const Tokenizer& tokenizer, const Tensor& logits);
void print_next_tokens(const Tokenizer& tokenizer, const Tensor& logits);

// A field of CSV (RFC 4180), in quotes where it needs them.
std::string csv_field(const std::string& text);

// "label 3", or the name of the class; "" if the data has no targets.
std::string target_text(const Dataset& data, std::int64_t row);

}  // namespace limpid::tool
