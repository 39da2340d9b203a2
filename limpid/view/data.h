// Examples of a data set, to step through. Leans on session.h and forward.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "limpid/view/forward.h"
#include "limpid/view/session.h"

namespace limpid::view {

struct ExamplesRequest {
  std::string model = {};  // that they are for; decides what a text's tokens are
  std::string data = {};   // empty: the model's own
  std::string part = "test";
  std::int64_t first = 0, count = 1;
};

struct ShownExample {
  std::int64_t index = 0;
  Tensor values = {};  // of one example
  ExampleFacts facts = {};
  std::string text = {};  // of tokens
};

struct ShownExamples {
  std::shared_ptr<const Dataset> data = {};
  std::string part = {};
  std::vector<ShownExample> examples = {};
};

// At most 1,000 examples, and as many numbers as an answer takes; fewer at the end of the data.
// Throws what examples() of the session throws, kInvalidArgument for a first example that there is
// not.
ShownExamples show_examples(Session& session, const ExamplesRequest& request);
Json to_json(const ShownExamples& shown);

}  // namespace limpid::view
