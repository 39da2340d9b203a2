// Subject: the model, input and edits of a request; and the values of that run. Depends on
// session.h and transforms/edit.h.
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
  // The elements of the only data input, row-major.
  struct Numbers {
    std::vector<double> values = {};
  };
  struct Text {
    std::string text = {};
  };
  // Tokens, as generated: their text may not be that of the same tokens.
  struct Tokens {
    std::vector<std::int32_t> tokens = {};
  };
  // An example of a data set; default: the model's data set.
  struct Example {
    std::string data = {};
    std::string part = "test";
    std::int64_t index = 0;
  };
  // Inputs by name.
  struct Named {
    std::map<std::string, std::vector<double>> inputs = {};
  };
  std::variant<Numbers, Text, Tokens, Example, Named> spec;
};

// An edit of a request. A patch takes the value from another example.
struct Change {
  Edit edit = {};
  std::optional<InputSpec> patch = {};
};

struct Subject {
  std::string model = {};
  std::optional<InputSpec> input = {};
  std::vector<Change> changes = {};
};

// From JSON, as in docs/view-api.md. These throw kFormat, naming the path of the fault;
// kUnsupported for more edits than the limits allow.
InputSpec input_from_json(const JsonView& json);
std::vector<Change> changes_from_json(const JsonView& json, const Limits& limits);
Subject subject_from_json(const JsonView& json, const Limits& limits);

// The data set and index of an example, for display.
struct Known {
  std::shared_ptr<const Dataset> data = {};
  std::int64_t index = 0;
};

// A model prepared for one example.
struct Ready {
  std::shared_ptr<const OpenModel> open = {};
  Model model = {};                       // for a text: at its number of tokens
  std::vector<Tensor> inputs = {};        // of the function, in order
  std::vector<std::int32_t> tokens = {};  // of a text
  std::optional<Known> known = {};
};
// Throws kInvalidArgument, kShape or kDtype if the input does not match, what Session::examples()
// throws, and kUnsupported for tensors without a function.
Ready ready(Session& session, const Subject& subject);

// The number of rows of an output that count, from the first. It is smaller than `rows` only for
// the last window of a text, if there is a row for each of its tokens: the window is padded.
std::int64_t counted_rows(const Ready& ready, std::int64_t rows);

// The edits of a request with their patches, for a prepared model. Throws what edit() throws.
std::vector<Edit> edits_of(Session& session, const Ready& ready,
                           const std::vector<Change>& changes);

// A prepared model with its edits. Throws what ready() and edit() throw.
struct Prepared {
  Ready ready = {};
  Edited edited = {};
};
Prepared prepare(Session& session, const Subject& subject);

// A run with edits.
struct Computed {
  Ready ready = {};
  Edited edited = {};
  // With the ValueIds of the model's own Function; an edited value is the one after the edits.
  Observation run = {};
};
Computed compute(Session& session, const Subject& subject);

// The value of a parameter, for edits without an input. `value` may also be "%" and the name
// without quotes. Throws kNotFound for a value that depends on an input.
Tensor parameter_value(const OpenModel& open, const std::string& value);

}  // namespace limpid::view
