// One event of a run's log as JSON, and back. run_log.h has the writing, to_json_line.
#pragma once

#include <optional>
#include <string_view>

#include "limpid/train/events.h"

namespace limpid::train::detail {

// Nothing for an event of an unknown kind. Throws kFormat where the line is no event.
std::optional<Event> parse_event(std::string_view line);

}  // namespace limpid::train::detail
