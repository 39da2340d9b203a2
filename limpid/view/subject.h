// Subject: what a request is about: a model, an input for it, and edits; and every value of that
// run. Leans on session.h and transforms/edit.h.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "limpid/inspect/trace.h"
#include "limpid/transforms/edit.h"
#include "limpid/view/session.h"

namespace limpid::view {

// One example for a model.
struct InputSpec {
  // Of the one data input, row by row.
  struct Numbers {
    std::vector<double> values = {};
  };
  struct Text {
    std::string text = {};
  };
  // Of a data set; the model's own where none is named.
  struct Example {
    std::string data = {};
    std::string part = "test";
    std::int64_t index = 0;
  };
  // By the names of the inputs.
  struct Named {
    std::map<std::string, std::vector<double>> inputs = {};
  };
  std::variant<Numbers, Text, Example, Named> spec;
};

// An edit as a request has it: a patch is what the value is for another example.
struct Change {
  Edit edit = {};
  std::optional<InputSpec> patch = {};
};

struct Subject {
  std::string model = {};
  std::optional<InputSpec> input = {};
  std::vector<Change> changes = {};
};

// Of JSON, as docs/view-api.md has it. Throw kFormat, with the path of the fault; kUnsupported for
// more edits than the limits allow.
InputSpec input_from_json(const JsonView& json);
std::vector<Change> changes_from_json(const JsonView& json, const Limits& limits);
Subject subject_from_json(const JsonView& json, const Limits& limits);

// An example of a data set, for people.
struct Known {
  std::shared_ptr<const Dataset> data = {};
  std::int64_t index = 0;
};

// A model made ready for one example.
struct Ready {
  std::shared_ptr<const OpenModel> open = {};
  Model model = {};                       // of a text: for its number of tokens
  std::vector<Tensor> inputs = {};        // of the function, in its order
  std::vector<std::int32_t> tokens = {};  // of a text
  std::optional<Known> known = {};
};
// Throws kInvalidArgument, kShape or kDtype where the input does not fit, what examples() of the
// session throws, and kUnsupported for tensors without a function.
Ready ready(Session& session, const Subject& subject);

// The edits of a request with their patches, for a model made ready. Throws what edit() throws.
std::vector<Edit> edits_of(Session& session, const Ready& ready,
                           const std::vector<Change>& changes);

// A model made ready, with edits. Throws what ready() and edit() throw.
struct Prepared {
  Ready ready = {};
  Edited edited = {};
};
Prepared prepare(Session& session, const Subject& subject);

// A run with edits.
struct Computed {
  Ready ready = {};
  Edited edited = {};
  // Under the numbers of the model's own Function: what was edited is what became of it.
  Observation run = {};
};
Computed compute(Session& session, const Subject& subject);

// The values of a Function that has the inputs of `ready` alone: of edits without an input,
// parameters. Throws kInvalidArgument for a value that needs an input.
Tensor parameter_value(const OpenModel& open, const std::string& value);

}  // namespace limpid::view
