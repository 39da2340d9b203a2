// The shapes of the operands of a step.
#include <fmt/format.h>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/optim/detail/check_step.h"

namespace limpid::optim::detail {

void check_step(const Args& params, const Args& gradients, const Value& rate) {
  for (const auto& [name, p] : params)
    if (const Value& g = gradients.at(name); g.shape() != p.shape())
      throw Error(ErrorCode::kShape,
                  fmt::format("optimizer: gradient of {}: expected the shape of {}, got {}",
                              in_quotes(name), to_string(p.type()), to_string(g.type())));
  check_scalar("rate", rate);
}

void check_scalar(std::string_view what, const Value& value) {
  if (value.rank() > 0)
    throw Error(ErrorCode::kShape, fmt::format("optimizer: {}: expected one number, got {}", what,
                                               to_string(value.type())));
}

}  // namespace limpid::optim::detail
