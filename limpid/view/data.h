// Examples of a data set, to browse. Depends on session.h and forward.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "limpid/view/forward.h"
#include "limpid/view/session.h"

namespace limpid::view {

struct ExamplesRequest {
  std::string model = {};  // whose examples to show; its tokenizer splits a text
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

// At most 1,000 examples, within Limits::values; fewer at the end of the data. Throws what
// Session::examples() throws, and kInvalidArgument if `first` is out of range.
ShownExamples show_examples(Session& session, const ExamplesRequest& request);
Json to_json(const ShownExamples& shown);

}  // namespace limpid::view
