// Parses one event of a run's log. to_json_line of run_log.h writes one.
#pragma once

#include <optional>
#include <string_view>

#include "limpid/train/log/events.h"

namespace limpid::train::detail {

// nullopt for an event of an unknown kind. Throws kFormat if the line is not an event.
std::optional<Event> parse_event(std::string_view line);

}  // namespace limpid::train::detail
