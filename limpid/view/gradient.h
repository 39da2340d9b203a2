// The gradient of an output, or of the loss, with respect to every value. Depends on subject.h and
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
  // The element of an output to differentiate; nullopt: the loss.
  std::optional<std::int64_t> output = {};
  std::string name = {};  // name of the output; empty: the first
  // The target of the loss; nullopt: that of the example.
  std::optional<std::vector<double>> target = {};
  std::int64_t values = 4096;
  std::vector<std::string> only = {};
};

struct GradientRow {
  // A value computed from this one: its op, and the gradient rule.
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
  Exact value = {};                    // the value that is differentiated
  std::vector<GradientRow> rows = {};  // of every value that it depends on, the last op first
};

// Gradients of parameters have the bits of value_and_grad(). Throws kInvalidArgument for an invalid
// output or target, kDtype unless it is f32 or f64, and what prepare() and value_and_grad() throw.
Gradients gradient(Session& session, const GradientRequest& request);
Json to_json(const Gradients& gradients);

}  // namespace limpid::view
