// The gradient of an output, or of the loss, by every value on the way. Leans on subject.h and
// transforms/grad.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "limpid/view/numbers.h"
#include "limpid/view/subject.h"

namespace limpid::view {

struct GradientRequest {
  Subject subject = {};
  // Of this element of an output; of the loss where it is none.
  std::optional<std::int64_t> output = {};
  std::string name = {};  // of the output; empty: the first
  // Of the loss: the example's own where nothing is given.
  std::optional<std::vector<double>> target = {};
  std::int64_t values = 4096;
  std::vector<std::string> only = {};
};

struct GradientRow {
  // A value that this one goes into, and how.
  struct User {
    std::string value = {}, op = {}, rule = {};
  };
  std::string value = {}, layer = {}, op = {};
  std::int64_t node = -1;
  Type type = {};
  Statistics statistics = {};
  std::optional<Values> values = {};
  std::vector<User> from = {};
};

struct Gradients {
  Exact value = {};                    // that was differentiated
  std::vector<GradientRow> rows = {};  // of every value that it depends on, the last op first
};

// By parameters the gradients have the bits that value_and_grad() gives. Throws kInvalidArgument
// for an output or a target that there is not, kDtype where it is no floating number, and what
// prepare() and value_and_grad() throw.
Gradients gradient(Session& session, const GradientRequest& request);
Json to_json(const Gradients& gradients);

}  // namespace limpid::view
