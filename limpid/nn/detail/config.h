// Reads a model's configuration, which is untrusted input. Depends on core/json.h, mlp.h and fmt.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "limpid/core/error.h"
#include "limpid/core/json.h"
#include "limpid/nn/mlp.h"

namespace limpid::nn::detail {

// Throws kInvalidArgument if this is the configuration of another kind of model.
inline void check_kind(const JsonView& config, std::string_view model) {
  if (config.at("model").value() != Json(model))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: the configuration is of another model", model));
}

// Parses the configuration of this kind of model and calls read() on it. Throws kParse for
// malformed text, kInvalidArgument for another kind of model.
template <class Read>
auto read_config(std::string_view model, std::string_view text, const Read& read) {
  try {
    const Json json = Json::parse(text);
    const JsonView config = json;
    check_kind(config, model);
    return read(config);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::kFormat) throw;
    throw Error(ErrorCode::kParse, fmt::format("{}: configuration: {}", model, e.what()));
  }
}

// The configuration of an Mlp as JSON, and from JSON; that of a CharLm contains one.
Json to_json(const Mlp& net);
Mlp mlp_of(const JsonView& config);

}  // namespace limpid::nn::detail
