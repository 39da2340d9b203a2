#include "limpid/serve/cors.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/serve/http_error.h"

namespace limpid::serve {
namespace {

// scheme://host[:port] without a path, in lower case as browsers send it.
bool is_origin(std::string_view text) {
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view host = text.substr(colon + 3);
  return !host.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view(":/.-_[]+").find(c) != std::string_view::npos;
  }) && host.find('/') == std::string_view::npos;
}

// Whether the host, from a URL, is an address or localhost: no stranger's domain name, which may
// resolve to this machine (DNS rebinding).
bool is_address(std::string_view host) {
  host = host.substr(0, host.rfind(':'));
  return host == "localhost" || host.starts_with('[') ||
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

Cors::Cors(std::vector<std::string> origins, bool local)
    : origins_(std::move(origins)), local_(local) {
  for (const std::string& origin : origins_)
    if (origin != "*" && !is_origin(origin))
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("serve: {}: expected an origin, as https://example.org or "
                              "http://localhost:3000, or *",
                              in_quotes(origin)));
}

bool Cors::named(const std::string& origin) const {
  return std::any_of(origins_.begin(), origins_.end(), [&](const std::string& allowed) {
    return allowed == "*" || allowed == origin;
  });
}

void Cors::check_host(const std::string& host) const {
  if (is_address(host) || named("http://" + host) || named("https://" + host)) return;
  throw HttpError(403, "Host: expected an address, localhost or the host of an --allow-origin");
}

void Cors::check(const Request& head) const {
  if (const std::string* const host = head.header("host"); local_ && host) check_host(*host);
  if (head.method == "GET" || head.method == "HEAD") return;
  const std::string* const origin = head.header("origin");
  if (!origin || named(*origin)) return;
  const std::string* const host = head.header("host");
  // The server's own pages. Under https, a proxy's certificate has proved the name.
  if (host && *origin == "https://" + *host) return;
  if (host && *origin == "http://" + *host && is_address(*host)) return;
  throw HttpError(403, "this origin may not send requests: expected --allow-origin with it");
}

std::vector<Header> Cors::headers(const Request& head) const {
  const std::string* const origin = head.header("origin");
  if (!origin || !named(*origin)) return {};
  std::vector<Header> headers{{"Access-Control-Allow-Origin", *origin}, {"Vary", "Origin"}};
  if (!is_preflight(head)) {
    headers.push_back({"Access-Control-Expose-Headers",
                       "Limpid-Receipt, Inference-Header-Content-Length, Retry-After"});
    return headers;
  }
  headers.push_back({"Access-Control-Allow-Methods", "GET, HEAD, POST"});
  // The client's value cannot inject headers: the parser refuses line ends.
  if (const std::string* const asked = head.header("access-control-request-headers"))
    headers.push_back({"Access-Control-Allow-Headers", *asked});
  if (head.header("access-control-request-private-network"))
    headers.push_back({"Access-Control-Allow-Private-Network", "true"});
  headers.push_back({"Access-Control-Max-Age", "600"});
  return headers;
}

bool is_preflight(const Request& head) {
  return head.method == "OPTIONS" && head.header("origin") != nullptr &&
         head.header("access-control-request-method") != nullptr;
}

}  // namespace limpid::serve
