// Every request of the page by its name: JSON to JSON. What is asked and answered is in
// docs/view-api.md. Leans on the rest of the folder; knows nothing of HTTP.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "limpid/core/json.h"
#include "limpid/view/session.h"

namespace limpid::view {

// One kind of request.
struct Endpoint {
  std::string_view name = {};  // "graph", "run/log"
  // Throws what the function behind it throws; kFormat for JSON that does not fit.
  Json (*answer)(Session& session, const JsonView& request);
  bool slow = false;  // may take seconds, so it runs beside the quick ones
};
// All of them.
std::span<const Endpoint> endpoints();
// The one of that name in a list; nullptr where there is none.
const Endpoint* find_endpoint(std::span<const Endpoint> list, std::string_view name);

// The answer to a request as text. Throws what the endpoint throws, kFormat for what is no JSON
// object.
std::string answer(Session& session, const Endpoint& endpoint, std::string_view request);
// The same by the name of one of endpoints(). Throws kNotFound, too.
std::string answer(Session& session, std::string_view name, std::string_view request);

// {"error": {"code", "message"}} of what the library threw.
std::string failure_json(std::string_view code, std::string_view message);

}  // namespace limpid::view
