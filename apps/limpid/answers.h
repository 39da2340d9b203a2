// What a model says of examples, as text and as JSON. Leans on output.h and limpid/inspect.
#pragma once

#include "apps/limpid/examples.h"
#include "apps/limpid/output.h"
#include "limpid/core/tensor.h"
#include "limpid/data/tokenizer.h"

namespace limpid::tool {

// Answers to examples of a data set; outputs are f32 [N, outputs]. Of an example of a
// classification: its label where the data has it, the class of the largest logit, logits and
// probabilities, of a text those behind the last token; of several labels: logits and
// probabilities; of a regression: numbers; both with their targets.
Json answers_json(const Examples& examples, const Tensor& outputs);

// The same for people: for examples without names for their features one after another, with the
// picture of an image and a line for each class, else a table with a line for each example.
void print_answers(const Examples& examples, const Tensor& outputs);

// The likeliest tokens behind a text, of logits f32 [1, ..., tokens] behind each of its tokens.
Json next_tokens_json(const Tokenizer& tokenizer, const Tensor& logits);
void print_next_tokens(const Tokenizer& tokenizer, const Tensor& logits);

// "label 3", or the name of the class; "" where the data has no targets. For the opening of a text.
std::string target_text(const Dataset& data, std::int64_t row);

}  // namespace limpid::tool
