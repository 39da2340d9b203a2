// Reading a model's configuration, which anybody may have written. Depends on core/json.h,
// mlp.h and fmt.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "limpid/core/error.h"
#include "limpid/core/json.h"
#include "limpid/nn/mlp.h"

namespace limpid::nn::detail {

// Throws kInvalidArgument for the configuration of another kind of model.
inline void check_kind(const JsonView& config, std::string_view model) {
  if (config.at("model").value() != Json(model))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: the configuration is of another model", model));
}

// read(view of the configuration), of this kind of model. Throws kParse for text that is none, too.
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

// The configuration of an Mlp as JSON, and back; a CharLm has one within its own.
Json to_json(const Mlp& net);
Mlp mlp_of(const JsonView& config);

}  // namespace limpid::nn::detail
