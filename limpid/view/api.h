// The endpoints of the page by name: functions from JSON to JSON. docs/view-api.md documents
// requests and responses. Depends on the rest of the folder; independent of HTTP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "limpid/core/json.h"
#include "limpid/view/session.h"

namespace limpid::view {

// How a request is answered.
enum class Effort : std::uint8_t {
  kQuick,   // in milliseconds, whatever is open
  kSlow,    // may take seconds, so it must not block others; ends when nobody waits for the answer
  kAction,  // changes a run: once begun, it is completed
};

// An endpoint.
struct Endpoint {
  std::string_view name = {};  // "graph", "run/log"
  // Throws what the function that it calls throws, and kFormat for an invalid request. Throws
  // Stopped where a StopScope of the thread ends it; then the session is as before.
  Json (*answer)(Session& session, const JsonView& request);
  Effort effort = Effort::kSlow;
};
// All endpoints.
std::span<const Endpoint> endpoints();
// The endpoint with this name in a list; nullptr if there is none.
const Endpoint* find_endpoint(std::span<const Endpoint> list, std::string_view name);

// The response to a request, as JSON text. Throws what the endpoint throws, and kFormat unless the
// request is a JSON object.
std::string answer(Session& session, const Endpoint& endpoint, std::string_view request);
// The same by the name of an endpoint of endpoints(). Also throws kNotFound.
std::string answer(Session& session, std::string_view name, std::string_view request);

// {"error": {"code", "message"}} for an error of the library.
std::string failure_json(std::string_view code, std::string_view message);

}  // namespace limpid::view
